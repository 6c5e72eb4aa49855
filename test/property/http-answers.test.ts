/** Whatever a server answers: every call ends in time, with its own reply or with an error. */
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ClientError } from "../../src/client/errors.ts";
import { FetchSender } from "../../src/client/fetch-sender.ts";
import type { HttpSender } from "../../src/client/http-exchange.ts";
import { StreamableHttp } from "../../src/client/streamable-http.ts";
import type { Received } from "../../src/client/transport.ts";
import { NodeHttpSender } from "../../src/node/http-sender.ts";
import { isObject } from "../../src/util/json.ts";
import { FakeHttp } from "../support/fake-http.ts";
import {
  type AskedOf,
  createHostileAnswer,
  type HostileAnswer,
  type Piece,
} from "../support/hostile-answers.ts";
import { Recorder } from "../support/http-client.ts";
import { Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);

/** Calls that are under way together. */
const together = 4;
const boundMs = 10_000;
/** How long a call waits; long enough for a busy machine, for what is not stalled. */
const patienceMs = 1_000;

/** What the server knows of the calls: whose events `Last-Event-ID` names, and who is there. */
function toAsked(
  method: string,
  body: string,
  lastEventId: string | undefined,
  ids: readonly number[],
): AskedOf {
  const message: unknown = body === "" ? undefined : JSON.parse(body);
  const id = isObject(message) ? message["id"] : undefined;
  const [, first, second] = /^(\d+)\.(\d+)-/.exec(lastEventId ?? "") ?? [];
  const resumed = first === second ? Number(first ?? 0) : 0;
  const of = typeof id === "number" ? id : resumed;
  return { method, id, ids, of };
}

async function* play(pieces: readonly Piece[], isOver: () => boolean): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    if (isOver()) return;
    if (piece.kind === "bytes") yield piece.bytes;
    else if (piece.kind === "wait") await delay(piece.ms);
    else if (piece.kind === "break") throw new Error("broken");
    else while (!isOver()) await delay(10);
  }
}

/** A `fetch` that answers without a network. */
function fetchOf(answer: (asked: AskedOf) => HostileAnswer, ids: readonly number[]) {
  return async (
    _url: URL,
    { method = "GET", body, headers, signal }: RequestInit,
  ): Promise<Response> => {
    const lastEventId = (headers as Record<string, string>)["last-event-id"];
    const {
      status,
      headers: sent,
      pieces,
    } = answer(toAsked(method, typeof body === "string" ? body : "", lastEventId, ids));
    if (pieces[0]?.kind === "break") throw new TypeError("fetch failed");
    const bytes = play(pieces, () => signal?.aborted === true);
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => {
        signal?.addEventListener("abort", () => controller.error(signal.reason));
      },
      pull: async (controller) => {
        const { done, value } = await bytes.next();
        if (signal?.aborted) return;
        if (done) controller.close();
        else controller.enqueue(value);
      },
    });
    return new Response([202, 204].includes(status) ? null : stream, { status, headers: sent });
  };
}

async function openHostile(answer: (asked: AskedOf) => HostileAnswer, ids: readonly number[]) {
  return FakeHttp.open(async (request, response) => {
    const lastEventId = request.headers["last-event-id"];
    const { status, headers, pieces } = answer(
      toAsked(request.method, request.body, String(lastEventId ?? ""), ids),
    );
    response.writeHead(status, headers);
    response.flushHeaders();
    for await (const bytes of play(pieces, () => response.destroyed)) {
      if (!response.write(bytes)) await delay(0);
    }
    response.end();
  });
}

type Outcome = Received | { readonly failed: unknown };

async function callOf(transport: StreamableHttp, id: number, random: Random): Promise<Outcome> {
  const own = new AbortController();
  const timer = setTimeout(() => own.abort(new ClientError("timeout", "enough")), patienceMs);
  try {
    return await transport.request(
      { message: { jsonrpc: "2.0", id, method: "tools/call", params: {} }, headers: {} },
      { signal: own.signal, resumption: random.pick(["primed", "plain", "none"]) },
    );
  } catch (failed) {
    return { failed };
  } finally {
    clearTimeout(timer);
  }
}

const kinds: readonly string[] = [
  "http",
  "unauthorized",
  "timeout",
  "interrupted",
  "session-lost",
  "invalid-answer",
  "too-large",
];

/** What is wrong with how a call ended, if anything. */
function judge(id: number, outcome: Outcome): string | undefined {
  if ("failed" in outcome) {
    const { failed } = outcome;
    const isKnown = failed instanceof ClientError && kinds.includes(failed.kind);
    return isKnown ? undefined : `call ${id} failed with ${String(failed)}`;
  }
  const { reply } = outcome;
  const { result } = reply;
  if (reply.id !== id) {
    return reply.id === null && reply.error !== undefined
      ? undefined
      : `call ${id} got ${String(reply.id)}`;
  }
  // What has no marker was made up for this call.
  if (!isObject(result) || !("for" in result && "on" in result)) return undefined;
  const isOwn = result["for"] === id && result["on"] === id;
  return isOwn ? undefined : `call ${id} got the reply ${JSON.stringify(result)}`;
}

interface Tally {
  replies: number;
  failures: number;
}

/** Calls in groups, each over a transport of its own. */
async function run(
  random: Random,
  calls: number,
  tally: Tally,
  connect: (
    answer: (asked: AskedOf) => HostileAnswer,
    ids: readonly number[],
  ) => Promise<{
    readonly url: string;
    readonly sender: HttpSender;
    readonly close: () => Promise<void>;
  }>,
): Promise<void> {
  for (let first = 1; first <= calls; first += together) {
    const ids = Array.from({ length: together }, (_, at) => first + at);
    const { url, sender, close } = await connect(
      (asked) => createHostileAnswer(random, asked),
      ids,
    );
    const transport = new StreamableHttp(url, sender, {
      maxMessageBytes: 3_000,
      resumeAttempts: 1,
      resumeWithinMs: 300,
      closeTimeoutMs: 20,
    });
    const recorder = new Recorder();
    await transport.start(recorder);
    const outcomes = await inTime(Promise.all(ids.map((id) => callOf(transport, id, random))));
    await inTime(transport.close());
    await close();
    const problems = outcomes.map((outcome, at) => judge(ids[at] ?? 0, outcome)).filter(Boolean);
    for (const { message, during } of recorder.heard) {
      const on = isObject(message.params) ? message.params["on"] : undefined;
      if (on !== undefined && on !== during)
        problems.push(`${message.method} of ${on} came during ${during}`);
    }
    if (sender.underWay > 0) problems.push(`${sender.underWay} exchanges are left`);
    if (problems.length > 0) expect.fail(`${problems.join("\n")}\nFUZZ_SEED=${seed}`);
    tally.replies += outcomes.filter((outcome) => "reply" in outcome).length;
    tally.failures += outcomes.filter((outcome) => "failed" in outcome).length;
  }
}

async function inTime<T>(promise: Promise<T>): Promise<T> {
  const late = new AbortController();
  const timeout = delay(boundMs, undefined, { signal: late.signal }).then(() => {
    throw new Error(`not over within ${boundMs} ms; FUZZ_SEED=${seed}`);
  });
  timeout.catch(() => undefined);
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    late.abort();
  }
}

describe("Any answer at all", () => {
  it(`ends its call, and no other, without a network (seed ${seed})`, async () => {
    const tally = { replies: 0, failures: 0 };
    const lanes = Array.from({ length: 40 }, (_, lane) =>
      run(new Random(seed + lane), 100, tally, async (answer, ids) => ({
        url: "http://server.test/mcp",
        sender: new FetchSender(fetchOf(answer, ids)),
        close: async () => undefined,
      })),
    );
    await Promise.all(lanes);
    // Enough of both, or the answers are no test.
    expect(tally.replies).toBeGreaterThan(500);
    expect(tally.failures).toBeGreaterThan(500);
  }, 120_000);

  it.each(["node", "fetch"])(
    `ends its call, and no other, over sockets with %s (seed ${seed})`,
    async (kind) => {
      const tally = { replies: 0, failures: 0 };
      const lanes = Array.from({ length: 10 }, (_, lane) =>
        run(new Random(seed + 1_000 + lane), 60, tally, async (answer, ids) => {
          const fake = await openHostile(answer, ids);
          const sender = kind === "node" ? new NodeHttpSender() : new FetchSender();
          return { url: fake.url, sender, close: () => fake[Symbol.asyncDispose]() };
        }),
      );
      await Promise.all(lanes);
      expect(tally.replies).toBeGreaterThan(50);
      expect(tally.failures).toBeGreaterThan(50);
    },
    120_000,
  );
});
