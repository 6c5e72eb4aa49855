/** Tokens in files: who may read them, what becomes of damage, and who writes at once. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { FileTokens, type FileTokensOptions } from "anyrev/client/auth";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect } from "../support/connecting.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const isWindows = process.platform === "win32";
const isRoot = process.getuid?.() === 0;
const secret = "very-secret-token";

let home: string;
let directory: string;
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), "tokens-"));
  directory = join(home, "below", "tokens");
});
afterEach(() => rm(home, { recursive: true, force: true }));

function openTokens(options: FileTokensOptions = {}) {
  const told: string[] = [];
  const tokens = new FileTokens(directory, { report: (text) => void told.push(text), ...options });
  return { tokens, told };
}

const files = async () => (await readdir(directory)).sort();
const modeOf = async (path: string) => ((await lstat(path)).mode & 0o777).toString(8);

async function onlyFile(): Promise<string> {
  const [name = "", ...more] = await files();
  expect(more).toEqual([]);
  return join(directory, name);
}

describe("what is kept", () => {
  it("is there for whoever opens the directory next, each under its name", async () => {
    const { tokens, told } = openTokens();
    expect(await tokens.get("one")).toBeUndefined();
    await tokens.set("one", `${secret} ü \u0000`);
    await tokens.set("two", "");
    const later = openTokens();
    expect(await later.tokens.get("one")).toBe(`${secret} ü \u0000`);
    expect(await later.tokens.get("two")).toBe("");
    await later.tokens.delete("one");
    await later.tokens.delete("one");
    expect(await tokens.get("one")).toBeUndefined();
    expect(await tokens.get("two")).toBe("");
    expect([...told, ...later.told]).toEqual([]);
  });

  it("is nothing where there is no directory, which reading and deleting do not make", async () => {
    const { tokens } = openTokens();
    expect(await tokens.get("one")).toBeUndefined();
    await tokens.delete("one");
    expect(await readdir(home)).toEqual([]);
  });

  it("is in a directory that is named", () => {
    expect(() => new FileTokens("")).toThrow("directory must be the path of one");
  });

  it.each([
    "client of https://as.test/../../../etc/passwd",
    "tokens for https://h.test/%2e%2e%2f..\\..\\windows",
    "../../escaped",
    "/etc/passwd",
    "C:\\Windows\\x",
    "nul\u0000byte",
    "",
    `long ${"x".repeat(5_000)}`,
    "CON",
  ])("is in no other place for the name %j", async (name) => {
    const { tokens } = openTokens();
    await tokens.set(name, "text");
    expect(await tokens.get(name)).toBe("text");
    expect(basename(await onlyFile())).toMatch(/^[\da-f]{64}\.json$/);
    expect(await readdir(join(home, "below"))).toEqual(["tokens"]);
    await tokens.delete(name);
    expect(await files()).toEqual([]);
  });

  it("is what was set last, however many writes are under way", async () => {
    const { tokens } = openTokens();
    const sets = Array.from({ length: 50 }, (_, at) => tokens.set("one", `text ${at}`));
    await Promise.all(sets);
    expect(await tokens.get("one")).toBe("text 49");
    await Promise.all([tokens.set("one", "more"), tokens.delete("one")]);
    expect(await tokens.get("one")).toBeUndefined();
    expect(await files()).toEqual([]);
  });
});

describe.skipIf(isWindows)("nobody else", () => {
  it("may read a file or enter the directory, whatever the umask is", async () => {
    for (const umask of ["0", "077", "0377"]) {
      await rm(directory, { recursive: true, force: true });
      const program = `
        import { FileTokens } from ${JSON.stringify(built)};
        await new FileTokens(${JSON.stringify(directory)}).set("one", "text");`;
      // Another process, as an umask is that of a whole process.
      const command = `umask ${umask} && exec "$0" --input-type=module -e "$1"`;
      await mkdir(join(home, "below"), { recursive: true });
      await promisify(execFile)("/bin/sh", ["-c", command, process.execPath, program]);
      expect(await modeOf(directory)).toBe("700");
      expect(await modeOf(await onlyFile())).toBe("600");
    }
  });

  it("may enter a directory that is made for it", async () => {
    await openTokens().tokens.set("one", secret);
    expect(await modeOf(directory)).toBe("700");
  });

  it.each(["755", "770", "701", "777"])(
    "may enter one that is there: %s is an error",
    async (mode) => {
      const { tokens } = openTokens();
      await tokens.set("one", secret);
      await chmod(directory, Number.parseInt(mode, 8));
      const why = `tokens are not kept in ${directory}: it is open to other users (mode ${mode}); it must be 700`;
      await expect(tokens.get("one")).rejects.toThrow(why);
      await expect(tokens.set("one", "other")).rejects.toThrow(why);
      await expect(tokens.delete("one")).rejects.toThrow(why);
      await chmod(directory, 0o700);
      expect(await tokens.get("one")).toBe(secret);
    },
  );

  it.each(["644", "660", "604"])("may have read a file that is used: %s is not", async (mode) => {
    const { tokens, told } = openTokens();
    await tokens.set("one", secret);
    const path = await onlyFile();
    await chmod(path, Number.parseInt(mode, 8));
    expect(await tokens.get("one")).toBeUndefined();
    expect(told).toEqual([
      `the file of tokens ${path} is not used: it is open to other users (mode ${mode}); it must be 600; sign in again to replace it`,
    ]);
    await tokens.set("one", "new");
    expect(await modeOf(path)).toBe("600");
    expect(await tokens.get("one")).toBe("new");
  });

  it.skipIf(!isRoot)("may own the directory, or a file in it", async () => {
    const { tokens, told } = openTokens();
    await tokens.set("one", secret);
    await chown(await onlyFile(), 12_345, 12_345);
    expect(await tokens.get("one")).toBeUndefined();
    expect(told).toEqual([expect.stringContaining("it belongs to another user")]);
    await chown(directory, 12_345, 12_345);
    await expect(tokens.get("one")).rejects.toThrow("it belongs to another user");
  });

  it("may lead it elsewhere by a link", async () => {
    const { tokens, told } = openTokens();
    await tokens.set("one", secret);
    const path = await onlyFile();
    const elsewhere = join(home, "elsewhere");
    await rename(path, elsewhere);
    await symlink(elsewhere, path);
    expect(await tokens.get("one")).toBeUndefined();
    expect(told).toEqual([`the file of tokens ${path} is not used: it is a link`]);
    await tokens.set("one", "new");
    expect((await lstat(path)).isFile()).toBe(true);
    expect(await readFile(elsewhere, "utf8")).toContain(secret);

    await rename(directory, join(home, "real"));
    await symlink(join(home, "real"), directory);
    await expect(tokens.get("one")).rejects.toThrow("it is no directory of its own");
    await expect(tokens.set("one", "x")).rejects.toThrow("it is no directory of its own");
  });

  it("may have it wait for what never comes", async () => {
    const { tokens, told } = openTokens();
    await tokens.set("one", secret);
    const path = await onlyFile();
    await rm(path);
    await promisify(execFile)("mkfifo", ["-m", "600", path]);
    expect(await tokens.get("one")).toBeUndefined();
    expect(told).toEqual([`the file of tokens ${path} is not used: it is no plain file`]);
  });
});

describe("a file that is no good", () => {
  const damages: Record<string, string | Buffer> = {
    empty: "",
    "cut off": `{"name":"one","text":"${secret}`,
    "no object": `"${secret}"`,
    "without a text": `{"name":"one","secret":"${secret}"}`,
    "with what is no text": `{"name":"one","text":["${secret}"]}`,
    "no text at all": Buffer.from([0xff, 0xfe, 0, 1, 2]),
    "of another name": `{"name":"two","text":"${secret}"}`,
    "too long": `{"name":"one","text":"${secret.repeat(10_000)}"}`,
  };

  it.each(Object.entries(damages))("%s is reported without what is in it", async (_, content) => {
    const { tokens, told } = openTokens();
    await tokens.set("one", "text");
    const path = await onlyFile();
    await writeFile(path, content);
    expect(await tokens.get("one")).toBeUndefined();
    expect(told).toEqual([expect.stringContaining(`the file of tokens ${path} is not used: it `)]);
    expect(told.join()).not.toContain(secret);
    await tokens.set("one", "new");
    expect(await tokens.get("one")).toBe("new");
    expect(told.length).toBe(1);
  });

  it("is a directory", async () => {
    const { tokens, told } = openTokens();
    await tokens.set("one", "text");
    const path = await onlyFile();
    await rm(path);
    await mkdir(path, { mode: 0o700 });
    expect(await tokens.get("one")).toBeUndefined();
    expect(told.length).toBe(1);
    await expect(tokens.set("one", secret)).rejects.toThrow(/^E[A-Z]+: /);
    expect(await files()).toEqual([basename(path)]);
  });

  it("has its user sign in again, and no more", async () => {
    await using fake = await FakeIssuer.open();
    const { tokens, told } = openTokens();
    const visit = async () => {
      const auth = fake.auth({ store: tokens });
      await using client = await connect(fake.url, { auth, revisions: "2026-07-28" });
      await client.call("anything", {});
    };
    await visit();
    await visit();
    expect(fake.asked.length).toBe(1);
    for (const name of await files()) await writeFile(join(directory, name), `{"${secret}`);
    await visit();
    expect(fake.asked.length).toBe(2);
    expect(told.length).toBeGreaterThan(0);
    const before = told.length;
    await visit();
    expect([fake.asked.length, told.length]).toEqual([2, before]);
  });

  it("is told of on standard error, where nobody else is", async () => {
    await openTokens().tokens.set("one", secret);
    await writeFile(await onlyFile(), `{"${secret}`);
    const program = `
      import { FileTokens } from ${JSON.stringify(built)};
      console.log(await new FileTokens(${JSON.stringify(directory)}).get("one"));`;
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [
      ...["--input-type=module", "-e", program],
    ]);
    expect(stdout).toBe("undefined\n");
    expect(stderr).toMatch(/^the file of tokens \S+ is not used: it is damaged\n$/);
  });
});

describe("what is kept has an end", () => {
  it("in the bytes of one file", async () => {
    const { tokens } = openTokens({ maxBytes: 1_000 });
    await tokens.set("one", "before");
    const failure = await tokens.set("one", secret.repeat(100)).catch((cause: Error) => cause);
    expect(String(failure)).toMatch(
      /^Error: tokens take \d+ bytes, and a file of them 1000 at most$/,
    );
    expect(await tokens.get("one")).toBe("before");
    expect((await files()).length).toBe(1);
  });

  it("in the number of files, of which those written longest ago go", async () => {
    const { tokens } = openTokens({ maxEntries: 3 });
    for (const [at, name] of ["a", "b", "c"].entries()) {
      const known = await files().catch((): string[] => []);
      await tokens.set(name, name);
      const [path = ""] = (await files()).filter((each) => !known.includes(each));
      await utimes(join(directory, path), 1_000 + at, 1_000 + at);
    }
    await tokens.set("a", "again");
    await tokens.set("d", "d");
    const found = await Promise.all(["a", "b", "c", "d"].map((name) => tokens.get(name)));
    expect(found).toEqual(["again", undefined, "c", "d"]);
  });

  it("and leaves alone what is not its own", async () => {
    const { tokens } = openTokens({ maxEntries: 1 });
    await tokens.set("a", "a");
    const own = `${"0".repeat(64)}.${crypto.randomUUID()}.tmp`;
    const young = `${"1".repeat(64)}.${crypto.randomUUID()}.tmp`;
    for (const name of ["notes.txt", "other.json", "x.tmp", own, young]) {
      await writeFile(join(directory, name), "mine");
    }
    for (const name of ["notes.txt", "other.json", "x.tmp", own]) {
      await utimes(join(directory, name), 1, 1);
    }
    await tokens.set("b", "b");
    const left = (await files()).filter((name) => !/^[\da-f]{64}\.json$/.test(name));
    expect(left).toEqual([young, "notes.txt", "other.json", "x.tmp"].sort());
    expect(await tokens.get("b")).toBe("b");
  });
});

const built = new URL("../../dist/node/client-auth.js", import.meta.url).href;

it("processes that write at once leave each other whole texts", async () => {
  const program = `
    import { FileTokens } from ${JSON.stringify(built)};
    const tokens = new FileTokens(${JSON.stringify(directory)});
    const mine = process.argv[1].repeat(20_000);
    for (let at = 0; at < 40; at++) {
      await tokens.set("shared", mine);
      await tokens.set("mine of " + process.argv[1], mine);
    }`;
  const writers = ["a", "b", "c"].map((letter) =>
    spawn(process.execPath, ["--input-type=module", "-e", program, letter], { stdio: "inherit" }),
  );
  const ends = writers.map(async (writer) => (await once(writer, "exit"))[0]);
  let isOver = false;
  const over = Promise.all(ends).finally(() => {
    isOver = true;
  });
  const { tokens, told } = openTokens();
  const seen = new Set<string | undefined>();
  while (!isOver) seen.add(await tokens.get("shared"));
  expect(await over).toEqual([0, 0, 0]);
  seen.add(await tokens.get("shared"));
  seen.delete(undefined);
  const whole = ["a", "b", "c"].map((letter) => letter.repeat(20_000));
  for (const text of seen) expect(whole.includes(text ?? "")).toBe(true);
  for (const letter of ["a", "b", "c"]) {
    expect(await tokens.get(`mine of ${letter}`)).toBe(letter.repeat(20_000));
  }
  expect((await files()).length).toBe(4);
  expect(told).toEqual([]);
});
