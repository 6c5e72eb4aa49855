/** Keeps tokens in files that nobody else may read: one a name, each replaced as a whole. */
import { constants, type Stats } from "node:fs";
import {
  chmod,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  stat,
} from "node:fs/promises";
import { join, resolve } from "node:path";
import type { TokenStore } from "../client/auth/store.ts";
import { excerpt } from "../client/excerpt.ts";
import { isObject } from "../util/json.ts";
import { sha256Hex } from "../util/sha256.ts";

export interface FileTokensOptions {
  /** How many texts are kept; of more, those that were written longest ago go. @default 1000 */
  readonly maxEntries?: number | undefined;
  /**
   * Bytes of one file at most: a server that has its clients keep more fills no disk, and a file of
   * more is not read. @default 65536
   */
  readonly maxBytes?: number | undefined;
  /**
   * Told of each file that is there and is not used, in words that hold nothing of it.
   * @default a line to standard error
   */
  readonly report?: ((message: string) => void) | undefined;
}

/** Of a process that ended while it wrote. */
const abandonedMs = 3_600_000;

const keptName = /^[\da-f]{64}\.json$/;
const halfName = /^[\da-f]{64}\.[\da-f-]{36}\.tmp$/;

/** Links are not followed, and what is no file is not waited for. Windows knows neither flag. */
const readOnly = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/**
 * Keeps tokens and registrations in a directory of their own, for one user of this machine: files of
 * mode 0600 in a directory of mode 0700, which it makes. Their names are digests, so that no URL of a
 * server can lead anywhere else. Each is written beside its place and moved there at once: a reader
 * gets what was there before or what is there now, also in another process, and the last writer wins.
 *
 * A directory that others may enter, or that belongs to another user, is an error. A file that others
 * may read, that is damaged or too long, is reported, left unread, and replaced by the next one: the
 * user signs in again. Windows has no such modes; there a directory of the user's profile is private.
 *
 * Texts are not encrypted: whoever can read the user's files, such as a backup, can read them.
 */
export class FileTokens implements TokenStore {
  readonly #directory: string;
  readonly #maxEntries: number;
  readonly #maxBytes: number;
  readonly #report: (message: string) => void;
  /** One write after the other, so that the last one that was asked for is the last one made. */
  #writing: Promise<unknown> = Promise.resolve();

  /** @param directory - for these files alone, such as one below the user's home */
  constructor(directory: string, options: FileTokensOptions = {}) {
    if (directory === "") throw new TypeError("directory must be the path of one");
    const { maxEntries = 1_000, maxBytes = 65_536, report = toStandardError } = options;
    this.#directory = resolve(directory);
    this.#maxEntries = maxEntries;
    this.#maxBytes = maxBytes;
    this.#report = report;
  }

  /** @throws Error for a directory that is not private */
  async get(name: string): Promise<string | undefined> {
    if (!(await this.#isThere())) return undefined;
    const path = this.#pathOf(name);
    const found = await readPrivate(path, this.#maxBytes);
    if (found === undefined) return undefined;
    if ("unusable" in found) {
      this.#report(excerpt(`the file of tokens ${path} is not used: ${found.unusable}`, 1_000));
      return undefined;
    }
    if (found.name === name) return found.text;
    this.#report(excerpt(`the file of tokens ${path} is not used: it is of another name`, 1_000));
    return undefined;
  }

  /** @throws Error for a text that is too long, a directory that is not private, or a full disk */
  set(name: string, text: string): Promise<void> {
    return this.#inTurn(async () => {
      const whole = Buffer.from(JSON.stringify({ name, text }));
      if (whole.byteLength > this.#maxBytes) {
        throw new Error(
          `tokens take ${whole.byteLength} bytes, and a file of them ${this.#maxBytes} at most`,
        );
      }
      const made = await mkdir(this.#directory, { recursive: true, mode: 0o700 });
      // Whatever the umask took away.
      if (made !== undefined) await chmod(this.#directory, 0o700);
      await this.#isThere();
      const path = this.#pathOf(name);
      await replace(path, whole);
      await this.#sweep(path);
    });
  }

  /** @throws Error for a directory that is not private */
  delete(name: string): Promise<void> {
    return this.#inTurn(async () => {
      if (await this.#isThere()) await rm(this.#pathOf(name), { force: true });
    });
  }

  #pathOf(name: string): string {
    return join(this.#directory, `${sha256Hex(name)}.json`);
  }

  #inTurn(write: () => Promise<void>): Promise<void> {
    const written = this.#writing.then(write);
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** @throws Error where others could read what is in it, or put something there */
  async #isThere(): Promise<boolean> {
    const found = await orNothing(lstat(this.#directory));
    if (found === undefined) return false;
    const why = found.isDirectory() ? exposure(found, "700") : "is no directory of its own";
    if (why === undefined) return true;
    throw new Error(excerpt(`tokens are not kept in ${this.#directory}: it ${why}`, 1_000));
  }

  /** What is too much, and what was left behind. */
  async #sweep(written: string): Promise<void> {
    const names = await readdir(this.#directory);
    for (const name of names.filter((each) => halfName.test(each))) {
      const path = join(this.#directory, name);
      const found = await orNothing(stat(path));
      if (found !== undefined && Date.now() - found.mtimeMs > abandonedMs) {
        await rm(path, { force: true });
      }
    }
    const kept = names.filter((name) => keptName.test(name));
    const tooMany = kept.length - this.#maxEntries;
    if (tooMany <= 0) return;
    const ages: { readonly path: string; readonly at: number }[] = [];
    for (const name of kept) {
      const path = join(this.#directory, name);
      const found = path === written ? undefined : await orNothing(stat(path));
      if (found !== undefined) ages.push({ path, at: found.mtimeMs });
    }
    ages.sort((one, other) => one.at - other.at);
    for (const { path } of ages.slice(0, tooMany)) await rm(path, { force: true });
  }
}

type Found = { readonly name: string; readonly text: string } | { readonly unusable: string };

/** Undefined where there is none. Nothing of a file is in what is said about it. */
async function readPrivate(path: string, maxBytes: number): Promise<Found | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, readOnly);
    const found = await file.stat();
    if (!found.isFile()) return { unusable: "it is no plain file" };
    const exposed = exposure(found, "600");
    if (exposed !== undefined) return { unusable: `it ${exposed}; sign in again to replace it` };
    if (found.size > maxBytes) return { unusable: `it has more than ${maxBytes} bytes` };
    // Not to its end, which somebody could move away.
    const buffer = Buffer.alloc(Math.max(1, found.size));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return parse(buffer.toString("utf8", 0, bytesRead));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    return { unusable: code === "ELOOP" ? "it is a link" : `it cannot be read (${code})` };
  } finally {
    await file?.close();
  }
}

function parse(content: string): Found {
  let found: unknown;
  try {
    found = JSON.parse(content);
  } catch {
    // The message would quote it.
    return { unusable: "it is damaged" };
  }
  if (!isObject(found)) return { unusable: "it is damaged" };
  const { name, text } = found;
  if (typeof name !== "string" || typeof text !== "string") return { unusable: "it is damaged" };
  return { name, text };
}

/** A reader never sees half of it, nor does one after a power cut. */
async function replace(path: string, whole: Buffer): Promise<void> {
  const half = path.replace(/json$/, `${crypto.randomUUID()}.tmp`);
  try {
    const file = await open(half, "wx", 0o600);
    try {
      await file.writeFile(whole);
      await file.sync();
    } finally {
      await file.close();
    }
    await chmod(half, 0o600);
    await rename(half, path);
  } catch (cause) {
    await rm(half, { force: true });
    throw cause;
  }
}

/** What is wrong with who may read it, in words that go on after its name. */
function exposure({ mode, uid }: Stats, wanted: "600" | "700"): string | undefined {
  const own = process.getuid?.();
  if (own === undefined) return undefined;
  if (uid !== own) return "belongs to another user";
  const actual = mode & 0o777;
  if ((actual & 0o077) === 0) return undefined;
  return `is open to other users (mode ${actual.toString(8)}); it must be ${wanted}`;
}

async function orNothing(found: Promise<Stats>): Promise<Stats | undefined> {
  try {
    return await found;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw cause;
  }
}

function toStandardError(message: string): void {
  process.stderr.write(`${message}\n`);
}
