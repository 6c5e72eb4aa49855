/** Runs the scripts by their digests; their text is sent where Redis does not know it. */
import { StoreError } from "../core/store-error.ts";
import type { RedisConnection } from "./redis-driver.ts";
import { type ScriptName, scripts } from "./redis-scripts.ts";

export class RedisScripts {
  readonly #connection: RedisConnection;
  readonly #base: string;
  readonly #timeoutMs: number;
  readonly #digests: Map<ScriptName, Promise<string>> = new Map();
  #isClosed = false;

  /** @param base - what all keys begin with: the hash tag */
  constructor(connection: RedisConnection, base: string, timeoutMs: number) {
    this.#connection = connection;
    this.#base = base;
    this.#timeoutMs = timeoutMs;
  }

  close(): void {
    this.#isClosed = true;
  }

  async run(name: ScriptName, args: readonly (string | number)[]): Promise<unknown> {
    this.#check();
    const end = Date.now() + this.#timeoutMs;
    const rest = ["1", this.#base, ...args.map(String)];
    try {
      return await this.#connection.send(
        ["EVALSHA", await this.#digest(name), ...rest],
        this.#timeoutMs,
      );
    } catch (cause) {
      // A Redis that was restarted, or another node of a cluster.
      if (!(cause instanceof Error) || !cause.message.startsWith("NOSCRIPT")) throw cause;
      return this.#connection.send(["EVAL", scripts[name], ...rest], Math.max(1, end - Date.now()));
    }
  }

  /** Sends a command on one key. */
  async send(command: string, key: string, args: readonly string[] = []): Promise<unknown> {
    this.#check();
    return this.#connection.send([command, this.#base + key, ...args], this.#timeoutMs);
  }

  #check(): void {
    if (this.#isClosed) throw new StoreError("closed", "the stores were closed");
  }

  #digest(name: ScriptName): Promise<string> {
    const known = this.#digests.get(name) ?? sha1(scripts[name]);
    this.#digests.set(name, known);
    return known;
  }
}

async function sha1(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
