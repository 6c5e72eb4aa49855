/** Many clients at once, all counting their requests alike, on every way in there is. */
import { createServer, type Server } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Duplex, type DuplexKind } from "../support/duplex.ts";
import { openWorker, type Worker } from "../support/live.ts";
import { Random } from "../support/random.ts";
import { isObject, type JsonObject, type Revision, revisions } from "../support/schemas.ts";
import { Talker, textOf } from "../support/talk.ts";

const clients = 64;
const calls = 20_000;
/** Calls that one client has running at the same time. */
const lanes = 4;

/** A worker over fetch or over sockets, with sessions or without, or a connection of its own. */
type Way = { readonly at: "fetch" | "node" | "stateless"; readonly streams: boolean } | DuplexKind;

const ways: readonly Way[] = [
  { at: "fetch", streams: false },
  { at: "fetch", streams: true },
  { at: "node", streams: false },
  { at: "node", streams: true },
  { at: "stateless", streams: false },
  { at: "stateless", streams: true },
  "stdio",
  "memory",
];

/** What a client is told of one call, in the call's own words. */
interface Heard {
  readonly result: JsonObject;
  readonly told: readonly JsonObject[];
}

type Call = (args: JsonObject, id: string | number, token: number | undefined) => Promise<Heard>;

function declare(): Server {
  const server = createServer({ name: "crossing", version: "1.0.0", log: () => undefined });
  const input = {
    type: "object",
    properties: {
      words: { type: "string" },
      mark: { type: "integer" },
      delayMs: { type: "integer" },
    },
    required: ["words", "mark", "delayMs"],
  } as const;
  server.tool(
    "echo",
    { description: "Gives back its words.", input },
    async ({ words, mark, delayMs }, ex) => {
      await ex.progress(mark);
      if (delayMs >= 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
      return `${words} ${ex.session?.id ?? "none"}`;
    },
  );
  return server;
}

describe("Sixty-four clients", () => {
  const server = declare();
  const workers = new Map<string, Worker>();

  beforeAll(async () => {
    workers.set("fetch", await openWorker("fetch", server));
    workers.set("node", await openWorker("node", server));
    workers.set("stateless", await openWorker("fetch", server, { sessions: false }));
  });

  afterAll(async () => {
    for (const worker of workers.values()) await worker[Symbol.asyncDispose]();
  });

  test("with equal ids make 20,000 calls, and each gets its own answers and no other", async () => {
    const random = new Random(64);
    const problems: string[] = [];
    const ending: (() => Promise<unknown>)[] = [];
    const sessions = new Set<string>();
    let answered = 0;

    const run = async (client: number): Promise<void> => {
      const revision = revisions[client % revisions.length]!;
      const way = ways[client % ways.length]!;
      const { call, streams, session } = await open(way, revision, workers, server, ending);
      if (session !== undefined) sessions.add(session);
      const share = Math.floor(calls / clients) + (client < calls % clients ? 1 : 0);
      let next = 0;
      const lane = async (): Promise<void> => {
        for (let count = next++; count < share; count = next++) {
          // Number and string ids alternate; the same ones are in use by every other client.
          const id = count % 2 === 0 ? count : String(count);
          const mark = client * 1_000 + count + 1;
          const words = `client ${client} call ${count}`;
          const args = { words, mark, delayMs: random.int(8) - 3 };
          const { result, told } = await call(args, id, streams ? count : undefined);
          answered++;
          const own = new RegExp(`^${words} (none|${session ?? "none|[0-9a-f-]{36}"})$`);
          if (!own.test(textOf(result))) problems.push(`${words}: ${JSON.stringify(result)}`);
          const marks = told.map(({ params }) => (isObject(params) ? params["progress"] : params));
          const expected = streams ? [mark] : [];
          if (JSON.stringify(marks) !== JSON.stringify(expected)) {
            problems.push(`${words}: was told ${JSON.stringify(told)}`);
          }
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
    };

    await Promise.all(Array.from({ length: clients }, (_, client) => run(client)));
    for (const end of ending) await end();
    expect(problems).toEqual([]);
    expect(answered).toBe(calls);
    // Each client of a handshake on a worker that keeps sessions had one to itself.
    const kept = Array.from({ length: clients }, (_, client) => client).filter((client) => {
      const way = ways[client % ways.length]!;
      return typeof way === "object" && way.at !== "stateless" && client % revisions.length > 0;
    });
    expect(sessions.size).toBe(kept.length);
  }, 90_000);
});

interface Opened {
  readonly call: Call;
  readonly streams: boolean;
  readonly session: string | undefined;
}

async function open(
  way: Way,
  revision: Revision,
  workers: ReadonlyMap<string, Worker>,
  server: Server,
  ending: (() => Promise<unknown>)[],
): Promise<Opened> {
  if (typeof way === "string") {
    const duplex = await Duplex.open(way, server, revision);
    ending.push(async () => {
      expect(duplex.foreign).toEqual([]);
      expect(duplex.missing).toBe(0);
      await duplex.close();
    });
    return { call: overDuplex(duplex), streams: true, session: undefined };
  }
  const talker = await Talker.open(workers.get(way.at)!, revision);
  return { call: overHttp(talker), streams: way.streams, session: talker.session };
}

function overHttp(talker: Talker): Call {
  return async (args, id, token) => {
    const asking = token === undefined ? { id } : { id, token };
    const talk = talker.call("echo", args, asking);
    const result = await talk.result();
    return { result, told: talk.messages.slice(0, -1) };
  };
}

function overDuplex(duplex: Duplex): Call {
  return async (args, id, token) => {
    const params = { name: "echo", arguments: args };
    const { reply, told } = await duplex.ask(id, "tools/call", params, token);
    const { result } = reply;
    if (!isObject(result)) throw new Error(`the call failed: ${JSON.stringify(reply)}`);
    return { result, told };
  };
}
