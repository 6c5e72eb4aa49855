/** Servers on other libraries, and what a client finds at each of them. */
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { duplexTarget } from "../../src/client/connect.ts";
import type { AskAnswer, Client, ConnectOptions, Target } from "../../src/node/client.ts";
import { type SpawnOptions, spawnServer } from "../../src/node/spawn.ts";
import { answered, elicit } from "./official-answers.ts";
import { Program } from "./program.ts";
import type { JsonObject, Revision } from "./schemas.ts";
import { until } from "./signals.ts";
import { type Traffic, tapped } from "./traffic.ts";

const folder = new URL("./peers/", import.meta.url);

/** How to start a peer over stdio. */
export function peerCommand(name: string, mode = "stdio"): SpawnOptions {
  return { command: process.execPath, args: [fileURLToPath(new URL(`${name}.mjs`, folder)), mode] };
}

/** A peer over HTTP, once it says where it listens. */
export async function startPeer(name: string, mode: string): Promise<Program & { url: string }> {
  const program = new Program(fileURLToPath(new URL(`${name}.mjs`, folder)), mode);
  const [, url = ""] = await program.printed(/listening (\S+)/);
  return Object.assign(program, { url });
}

/** A server that is started as a process, with all that crosses noted. */
export function processTarget(command: SpawnOptions, traffic: Traffic): Target {
  return duplexTarget(() => tapped(spawnServer(command), traffic));
}

/** What the client heard while it used a server. */
export class Heard {
  readonly logs: unknown[] = [];
  readonly warnings: string[] = [];
  readonly asked: string[] = [];

  /** Everything is answered, in the same way as the official clients of these tests do. */
  readonly options: ConnectOptions = {
    onAsk: (asked) => {
      this.asked.push(asked.kind);
      return asked.kind === "form" ? fillIn(asked.schema) : { action: "accept" };
    },
    onSample: () => {
      this.asked.push("sample");
      return { content: answered.text, model: answered.model };
    },
    onRoots: answered.roots,
    onLog: ({ data }) => this.logs.push(data),
    onWarning: (message) => this.warnings.push(message),
    logLevel: "debug",
    timeoutMs: 10_000,
  };
}

/** The published schemas let an answer hold whole numbers alone, the specification any. */
function fillIn(schema: JsonObject): AskAnswer {
  const { content } = elicit({ requestedSchema: schema });
  const whole = Object.entries(content).map(([name, value]) => [
    name,
    typeof value === "number" ? Math.round(value) : value,
  ]);
  return { action: "accept", content: Object.fromEntries(whole) };
}

/** What a peer has, and where it strays; each is said where the peer is used. */
export interface PeerTraits {
  /** The tools that ask. */
  readonly asks: readonly ("who" | "twice" | "imagine" | "where")[];
  readonly completes: boolean;
  readonly logs: boolean;
  readonly progress: boolean;
  readonly instructions: boolean;
  /** The list that `announce` says has changed; undefined where nobody can be told. */
  readonly announces: "tools" | "prompts" | undefined;
  /** What it does that its revision does not allow. */
  readonly faults: readonly RegExp[];
}

export const allTraits: PeerTraits = {
  asks: ["who", "imagine", "where"],
  completes: true,
  logs: true,
  progress: true,
  instructions: true,
  announces: "tools",
  faults: [],
};

const said: Readonly<Record<PeerTraits["asks"][number], string>> = {
  who: `Hello, ${answered.text}!`,
  twice: `${answered.text} and ${answered.text}`,
  imagine: answered.text,
  where: answered.roots[0].uri,
};

/** Uses every operation that the peer has. */
export async function usePeer(
  client: Client,
  heard: Heard,
  revision: Revision,
  traits: PeerTraits = allTraits,
): Promise<void> {
  expect(client.server.revision).toBe(revision);
  if (traits.instructions) expect(client.server.instructions).toBe("Ask politely.");
  await client.ping();
  const tools = await client.list("tools");
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["add", "count", "fail", ...traits.asks]),
  );
  const added = await client.call("add", { a: 1, b: 2 });
  expect(added).toMatchObject({ isError: false, structured: { sum: 3 } });
  expect(await client.call("fail")).toMatchObject({ isError: true });
  await countAndHear(client, heard, traits);
  await answerAll(client, revision, traits);
  await readAndGet(client, traits);
  await hearChanges(client, traits);
}

async function hearChanges(client: Client, { announces }: PeerTraits): Promise<void> {
  if (announces === undefined) return;
  const changes: unknown[] = [];
  const listening = await client.listen({ lists: [announces] }, (change) => changes.push(change));
  await client.call("announce");
  await until("a change is heard of", () => changes.length > 0);
  expect(changes).toEqual([{ kind: "list-changed", list: announces }]);
  await listening.close();
}

async function countAndHear(client: Client, heard: Heard, traits: PeerTraits): Promise<void> {
  const progress: number[] = [];
  const onProgress = (each: { progress: number }): number => progress.push(each.progress);
  const counted = await client.call("count", { to: 3 }, { onProgress });
  expect(counted.text).toBe("counted to 3");
  expect(progress).toEqual(traits.progress ? [1, 2, 3] : []);
  // Entries may come over another stream than the reply, and some servers log more.
  const told = (): number => heard.logs.filter((data) => /at \d/.test(JSON.stringify(data))).length;
  if (traits.logs) await until("three entries are logged", () => told() === 3);
}

async function answerAll(client: Client, revision: Revision, { asks }: PeerTraits): Promise<void> {
  for (const name of asks) {
    // Nobody was asked to fill in forms before that.
    if (revision < "2025-06-18" && (name === "who" || name === "twice")) continue;
    expect(await client.call(name), name).toMatchObject({ text: said[name], isError: false });
  }
}

async function readAndGet(client: Client, { completes }: PeerTraits): Promise<void> {
  expect((await client.list("resources")).map(({ uri }) => uri)).toEqual(["note://one"]);
  expect((await client.list("templates")).map(({ uriTemplate }) => uriTemplate)).toEqual([
    "note://{name}",
  ]);
  expect((await client.list("prompts")).map(({ name }) => name)).toEqual(["welcome"]);
  expect(await client.read("note://one")).toMatchObject({ contents: [{ text: "the note" }] });
  expect(await client.read("note://Ada")).toMatchObject({
    contents: [{ text: "the note of Ada" }],
  });
  const { messages } = await client.get("welcome", { name: "Ada" });
  expect(messages).toMatchObject([{ role: "user", content: { text: "Welcome Ada." } }]);
  if (!completes) return;
  const onPrompt = { of: "prompt", target: "welcome", argument: "name", value: "A" } as const;
  expect((await client.complete(onPrompt)).values).toEqual(["Ada", "Alan"]);
  const onTemplate = { ...onPrompt, of: "template", target: "note://{name}" } as const;
  expect((await client.complete(onTemplate)).values).toEqual(["Ada", "Alan"]);
}

/**
 * What is wrong with anything that crossed, but for the known faults of the peer. Members that
 * only other revisions define are let pass from a peer: those of the schemas are open ended.
 */
export function strayed(traffic: Traffic, revision: Revision, traits = allTraits): string[] {
  const { client, server } = traffic.problems(revision);
  const isKnown = (problem: string): boolean =>
    / not defined by \d{4}-\d\d-\d\d$/.test(problem) ||
    traits.faults.some((fault) => fault.test(problem));
  return [...client, ...server.filter((problem) => !isKnown(problem))];
}
