/** Many clients under equal ids, in mixed revisions: each is told its own, all of it, and nothing else. */
import { beforeAll, describe, expect, test } from "vitest";
import { headersFor, initializeParams, request } from "../support/messages.ts";
import { buildFixtures, patience } from "../support/program.ts";
import { RawSocket, rawRequest } from "../support/raw-socket.ts";
import { assertReply, isObject, type Revision, revisions } from "../support/wire.ts";
import { placeIn, WorkerGroup } from "../support/worker-group.ts";

const clients = 64;

/** One connection to each worker, taken in turn, and what a client said over them. */
class Client {
  readonly #name: string;
  readonly #revision: Revision;
  readonly #ports: readonly number[];
  readonly #sockets: (RawSocket | undefined)[] = [];
  #session: string | undefined;
  #turn = 0;

  constructor(at: number, ports: readonly number[]) {
    this.#name = `client ${at}`;
    this.#revision = revisions[at % revisions.length] ?? "2026-07-28";
    this.#ports = ports;
    this.#turn = at;
  }

  async open(): Promise<void> {
    if (this.#revision === "2026-07-28") return;
    const params = initializeParams(this.#revision);
    const opened = await this.#post(request(this.#revision, 1, "initialize", params));
    this.#session = opened?.headers["mcp-session-id"];
  }

  /** Calls under the ids that every client uses; what is foreign or lost, as sentences. */
  async run(calls: number): Promise<string[]> {
    const faults: string[] = [];
    for (let id = 1; id <= calls; id++) {
      const said = { text: `${this.#name} says ${id}`, secret: `of ${this.#name}` };
      const params = { name: "echo", arguments: said, _meta: { progressToken: 1 } };
      const message = request(this.#revision, id, "tools/call", params);
      const answer = await this.#post(message);
      const reply: unknown = answer === undefined ? undefined : JSON.parse(answer.text);
      if (id % 50 === 0) assertReply(this.#revision, message, reply);
      const told = textOf(reply);
      const isOwn = isObject(reply) && reply["id"] === id && told === JSON.stringify(said);
      if (!isOwn) faults.push(`${this.#name}, ${id}: ${answer?.status} ${answer?.text}`);
    }
    return faults;
  }

  close(): void {
    for (const socket of this.#sockets) socket?.[Symbol.dispose]();
  }

  async #post(message: { readonly method: string }) {
    const at = this.#turn++ % this.#ports.length;
    let socket = this.#sockets[at];
    if (socket === undefined || socket.isClosed) {
      socket = await RawSocket.open(this.#ports[at] ?? 0);
      this.#sockets[at] = socket;
    }
    const headers: Record<string, string> = {
      host: "localhost",
      ...headersFor(this.#revision, message),
      ...(this.#session !== undefined && { "mcp-session-id": this.#session }),
    };
    socket.write(rawRequest("POST", "/mcp", Object.entries(headers), JSON.stringify(message)));
    return socket.answer();
  }
}

function textOf(reply: unknown): unknown {
  const result = isObject(reply) ? reply["result"] : undefined;
  const content = isObject(result) ? result["content"] : undefined;
  const [block]: readonly unknown[] = Array.isArray(content) ? content : [];
  return isObject(block) ? block["text"] : undefined;
}

beforeAll(buildFixtures, patience);

describe.each([
  { workers: 1, calls: 80_000 },
  { workers: 4, calls: 20_000 },
])("with $workers workers", ({ workers, calls }) => {
  test(`${clients} clients under equal ids get ${calls} answers, none foreign and none lost`, async () => {
    await using place = await placeIn("sqlite");
    await using group = await WorkerGroup.open(place.address, workers);
    const ports = group.members.map(({ port }) => port);
    const all = Array.from({ length: clients }, (_, at) => new Client(at, ports));
    await Promise.all(all.map((client) => client.open()));
    const faults = await Promise.all(all.map((client) => client.run(calls / clients)));
    for (const client of all) client.close();
    expect(faults.flat().slice(0, 5)).toEqual([]);
  }, 120_000);
});
