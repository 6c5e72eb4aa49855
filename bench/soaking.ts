/** A long load on one process, which says whether memory stays flat and every count comes out right. */
import { Agent, request as httpRequest } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { serve } from "anyrev/node";
import { createFixture } from "../fixture/declare.ts";

const mebibyte = 1_048_576;
const revisions = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export interface SoakOptions {
  /** How long the load lasts, in milliseconds; the first third of it warms up. */
  readonly durationMs: number;
  /** How many call at once. @default 20 */
  readonly callers?: number | undefined;
  /** Hears each measurement. @default nothing is told */
  readonly onSample?: ((heapMiB: number, calls: number) => void) | undefined;
}

export interface SoakReport {
  readonly calls: number;
  readonly sessions: number;
  /** Mebibytes on the heap after a collection, from the end of the warm-up on. */
  readonly heapMiB: readonly number[];
  /** How much more the heap holds at the end than after the warm-up, in mebibytes. */
  readonly growthMiB: number;
  /** What was lost, doubled, or answered wrong, as sentences; none when all went well. */
  readonly faults: readonly string[];
}

interface Run {
  readonly port: number;
  readonly agent: Agent;
  readonly faults: string[];
  calls: number;
  sessions: number;
  isOver: boolean;
}

export async function soak({
  durationMs,
  callers = 20,
  onSample,
}: SoakOptions): Promise<SoakReport> {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const serving = await serve(createFixture({ log: () => undefined }), { port: 0, drainMs: 1_000 });
  const agent = new Agent({ keepAlive: true, maxSockets: callers });
  const run: Run = { port: serving.port, agent, faults: [], calls: 0, sessions: 0, isOver: false };
  const calling = Promise.all(
    Array.from({ length: callers }, (_, at) => new Caller(run, at).run()),
  );
  const heapMiB: number[] = [];
  const steps = 9;
  for (let step = 1; step <= steps; step++) {
    await new Promise((resolve) => setTimeout(resolve, durationMs / steps));
    collect();
    const heap = process.memoryUsage().heapUsed / mebibyte;
    onSample?.(heap, run.calls);
    if (step * 3 >= steps) heapMiB.push(heap);
  }
  run.isOver = true;
  await calling;
  agent.destroy();
  await serving.close();
  const { calls, sessions, faults } = run;
  // The least of a few on either side: what is under way just then is no growth.
  const growthMiB = Math.min(...heapMiB.slice(-3)) - Math.min(...heapMiB.slice(0, 3));
  return { calls, sessions, heapMiB, growthMiB, faults };
}

/** Counts by sessions that it opens and ends, or by one handle, and knows what each count must be. */
class Caller {
  readonly #run: Run;
  readonly #revision: (typeof revisions)[number];
  #session: string | undefined;
  #handle: string | undefined;
  #count = 0;
  #id = 0;

  constructor(run: Run, at: number) {
    this.#run = run;
    this.#revision = revisions[at % revisions.length] ?? "2026-07-28";
  }

  async run(): Promise<void> {
    try {
      while (!this.#run.isOver) await this.#live();
    } catch (cause) {
      this.#run.faults.push(`${this.#revision}: ${cause}`);
    }
  }

  /** One session's life; a handle lasts as long as its caller. */
  async #live(): Promise<void> {
    if (this.#revision !== "2026-07-28") await this.#open();
    for (let turn = 0; turn < 100 && !this.#run.isOver; turn++) await this.#turn();
    if (this.#session === undefined) return;
    const { status } = await this.#send("DELETE", undefined);
    if (status !== 204) this.#run.faults.push(`a session ended with ${status}`);
    this.#session = undefined;
  }

  async #open(): Promise<void> {
    const clientInfo = { name: "soak", version: "1" };
    const params = { protocolVersion: this.#revision, capabilities: {}, clientInfo };
    const { session } = await this.#post("initialize", params);
    this.#session = session;
    this.#count = 0;
    this.#run.sessions++;
  }

  async #turn(): Promise<void> {
    const named = this.#handle === undefined ? {} : { handle: this.#handle };
    const counted = await this.#call("count", { key: "n", ...named });
    this.#handle ??= typeof counted["handle"] === "string" ? counted["handle"] : undefined;
    if (counted["count"] !== ++this.#count) {
      this.#run.faults.push(`counted ${counted["count"]} where ${this.#count} was due`);
    }
    const text = `${this.#revision} ${this.#id}`;
    const said = await this.#call("echo", { text });
    if (said["text"] !== text) this.#run.faults.push(`said ${said["text"]} for ${text}`);
    await this.#post("tools/list", {});
  }

  async #call(name: string, args: object): Promise<Readonly<Record<string, unknown>>> {
    const { text } = await this.#post("tools/call", { name, arguments: args });
    const { result } = JSON.parse(text) as { result: { content: readonly { text: string }[] } };
    return JSON.parse(result.content[0]?.text ?? "{}");
  }

  async #post(method: string, params: object) {
    const meta = {
      "io.modelcontextprotocol/protocolVersion": this.#revision,
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    const all = this.#revision === "2026-07-28" ? { ...params, _meta: meta } : params;
    const message = { jsonrpc: "2.0", id: ++this.#id, method, params: all };
    this.#run.calls++;
    const answered = await this.#send("POST", message);
    if (answered.status === 200) return answered;
    throw new Error(`${method} was answered with ${answered.status}: ${answered.text}`);
  }

  #send(verb: string, message: { method: string; params: object } | undefined) {
    const body = message && JSON.stringify(message);
    const name = message && "name" in message.params ? String(message.params.name) : undefined;
    const headers: Record<string, string | number> = {
      accept: "application/json, text/event-stream",
      ...(body !== undefined && {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      }),
      ...(message?.method !== "initialize" && { "mcp-protocol-version": this.#revision }),
      ...(this.#session !== undefined && { "mcp-session-id": this.#session }),
      ...(message && { "mcp-method": message.method }),
      ...(name !== undefined && { "mcp-name": name }),
    };
    const { port, agent } = this.#run;
    return new Promise<{ status: number; session: string | undefined; text: string }>(
      (resolve, reject) => {
        const options = { host: "127.0.0.1", port, path: "/mcp", method: verb, headers, agent };
        const outgoing = httpRequest(options, (incoming) => {
          let text = "";
          incoming.setEncoding("utf8");
          incoming.on("data", (chunk: string) => {
            text += chunk;
          });
          incoming.once("error", reject);
          incoming.once("end", () => {
            const session = incoming.headers["mcp-session-id"];
            const id = typeof session === "string" ? session : undefined;
            resolve({ status: incoming.statusCode ?? 0, session: id, text });
          });
        });
        outgoing.once("error", reject);
        outgoing.end(body);
      },
    );
  }
}
