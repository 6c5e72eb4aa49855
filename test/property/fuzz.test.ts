/** Whatever comes in gets an answer: in time, in the right shape, and never a server error. */
import {
  createEndpoint,
  type Endpoint,
  type EndpointOptions,
  type HttpReply,
  type HttpRequest,
  type Selection,
  type Server,
} from "anyrev";
import { describe, expect, it } from "vitest";
import { createHostile, type Hostile } from "../support/hostile.ts";
import { openLine } from "../support/peer.ts";
import { Random, seedOf } from "../support/random.ts";
import { createShowcase } from "../support/showcase.ts";
import {
  checkReply,
  isObject,
  type JsonObject,
  type Revision,
  revisions,
} from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`fuzz: FUZZ_SEED=${seed}`);

const requests = 100_000;
const overSocket = 2_000;
const boundMs = 5_000;

const statuses: readonly number[] = [200, 202, 204, 400, 403, 404, 405, 406, 413, 415];

const setups: readonly EndpointOptions[] = [
  {},
  { sessions: false },
  { batch: false },
  { revisions: ["2026-07-28"] },
  { revisions: ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] },
  { revisions: ["2026-07-28", "2024-11-05"], allowedOrigins: ["*"] },
];

function createTarget(complaints: unknown[]): Server {
  const log = (entry: { readonly level: string }) => {
    if (entry.level === "error") complaints.push(entry);
  };
  const server = createShowcase({ pageSize: 7, log });
  server.tool("echo", {}, (args) => args);
  server.tool("slow", {}, async () => {
    await Promise.resolve();
    return { slow: true };
  });
  return server;
}

interface Answered {
  readonly status: number;
  readonly contentType: string;
  readonly session: string | undefined;
  /** The body goes on, and was let go of. */
  readonly stream: boolean;
  readonly text: string;
}

/** What was found wrong with one exchange, as sentences. */
function judge(
  sent: Hostile,
  got: Answered,
  selection: Selection | undefined,
  served: readonly Revision[],
): string[] {
  const problems: string[] = [];
  if (!statuses.includes(got.status)) problems.push(`the status is ${got.status}`);
  if (selection?.adapter.era === "modern" && got.session !== undefined) {
    problems.push("a session was given out");
  }
  if (got.contentType === "text/event-stream" && got.stream) {
    // What goes on: a session's own stream, or the answer to a request that listens.
    const listens = sent.method === "GET" || selection?.adapter.era === "modern";
    return listens && got.status === 200 ? problems : [...problems, "nothing asked for a stream"];
  }
  if (got.text === "") {
    if (![202, 204].includes(got.status) && sent.method !== "HEAD")
      problems.push("the body is empty");
    return problems;
  }
  const asked = parse(new TextDecoder().decode(sent.body));
  const replied = parse(unwrap(got));
  if (replied === undefined) return [...problems, "the body is no JSON"];
  const all = Array.isArray(replied) ? replied : [replied];
  if (Array.isArray(replied) && selection?.adapter.revision !== "2025-03-26") {
    problems.push("the answer is an array");
  }
  for (const reply of all) {
    problems.push(...judgeReply(asked, reply, got.status, selection, served));
  }
  return problems;
}

function judgeReply(
  asked: unknown,
  reply: unknown,
  status: number,
  selection: Selection | undefined,
  served: readonly Revision[],
): string[] {
  if (!isObject(reply)) return ["a reply is no object"];
  const request = requestOf(asked, reply);
  const problems = judgeId(request, reply);
  const { result, error } = reply;
  if (isObject(error) && error["code"] === -32603) problems.push("an internal error");
  if (isObject(result) && status !== 200) problems.push("a result on another status than 200");
  const isHandshake = selection !== undefined && selection.adapter.era === "handshake";
  if (isHandshake && isObject(result)) problems.push(...modernFieldsOf(result));
  const judging = revisionOf(selection, result, served);
  const judged = judging.map((revision) =>
    checkReply(
      revision,
      {
        method: String(request?.["method"]),
        id: reply["id"] ?? undefined,
        params: request?.["params"],
      },
      reply,
    ),
  );
  const kindest = judged.sort((left, right) => left.length - right.length)[0] ?? [];
  return [...problems, ...kindest];
}

/** The request that a reply answers: by its id in an array, the message itself otherwise. */
function requestOf(asked: unknown, reply: JsonObject): JsonObject | undefined {
  if (!Array.isArray(asked)) return isObject(asked) ? asked : undefined;
  return asked.filter(isObject).find((item) => item["id"] === reply["id"]);
}

function judgeId(request: JsonObject | undefined, reply: JsonObject): string[] {
  const id = reply["id"];
  if ("result" in reply) {
    return id !== undefined && id === request?.["id"] ? [] : ["a result has another id"];
  }
  if (id === undefined || id === null) return [];
  return id === request?.["id"] ? [] : ["an error has an id that nobody sent"];
}

function modernFieldsOf(result: JsonObject): string[] {
  const found = ["resultType", "ttlMs", "cacheScope"].filter((name) => name in result);
  const meta = result["_meta"];
  if (isObject(meta) && "io.modelcontextprotocol/serverInfo" in meta) found.push("serverInfo");
  return found.map((name) => `a handshake revision has no ${name}`);
}

/** Which revisions the reply may be written in; one, unless it came before any selection. */
function revisionOf(
  selection: Selection | undefined,
  result: unknown,
  served: readonly Revision[],
): readonly Revision[] {
  const settled = isObject(result) ? result["protocolVersion"] : undefined;
  if (typeof settled === "string") return served.filter((revision) => revision === settled);
  if (selection === undefined) return served;
  return served.filter((revision) => revision === selection.adapter.revision);
}

function unwrap({ contentType, text }: Answered): string {
  if (contentType !== "text/event-stream") return text;
  return /^event: message\ndata: ([^\n\r]*)\n\n$/.exec(text)?.[1] ?? "";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    // Not JSON; the callers tell whether it had to be.
    return undefined;
  }
}

function toRequest(sent: Hostile): HttpRequest {
  return {
    method: sent.method,
    target: `/mcp${sent.query}`,
    host: "localhost",
    headers: (name) => sent.headers[name],
    body: () => sent.body,
    onDisconnect: () => {},
  };
}

function readReply({ status, headers, body, stream }: HttpReply): Answered {
  // Nobody reads on: what a stream holds is let go at once.
  stream?.disconnect();
  return {
    stream: stream !== undefined,
    status,
    contentType: headers["content-type"] ?? "",
    session: headers["mcp-session-id"],
    text: body ?? "",
  };
}

async function inTime<T>(value: T | Promise<T>): Promise<T> {
  if (!(value instanceof Promise)) return value;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${boundMs} ms`)), boundMs);
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Fails with what it takes to send the request again. */
function report(problems: readonly string[], sent: Hostile, got: Answered): void {
  if (problems.length === 0) return;
  const body = new TextDecoder().decode(sent.body).slice(0, 2000);
  expect.fail(
    `${problems.join("; ")}\n${sent.method} /mcp${sent.query}\n${JSON.stringify(sent.headers)}\n${body}\n→ ${got.status} ${got.text.slice(0, 2000)}\nFUZZ_SEED=${seed}`,
  );
}

function servedBy(options: EndpointOptions): readonly Revision[] {
  const { revisions: chosen } = options;
  if (chosen === undefined || !Array.isArray(chosen)) return revisions;
  return revisions.filter((revision) => chosen.includes(revision));
}

describe("any request at all", () => {
  it.each(setups)(
    "is answered in the shape of its revision (%j)",
    async (options) => {
      const complaints: unknown[] = [];
      let selection: Selection | undefined;
      const endpoint: Endpoint = createEndpoint(createTarget(complaints), {
        ...options,
        onSelection: (found) => {
          selection = found;
        },
      });
      const random = new Random(seed + setups.indexOf(options));
      const served = servedBy(options);
      const sessions: string[] = [];
      let slowestMs = 0;
      for (let count = 0; count < requests / setups.length; count++) {
        const sent = createHostile(random, sessions);
        selection = undefined;
        const start = performance.now();
        const got = readReply(await inTime(endpoint.handle(toRequest(sent))));
        slowestMs = Math.max(slowestMs, performance.now() - start);
        if (got.session !== undefined && sessions.length < 20) sessions.push(got.session);
        report(judge(sent, got, selection, served), sent, got);
      }
      expect(complaints).toEqual([]);
      expect(slowestMs).toBeLessThan(boundMs);
      if (options.sessions === false || served.length === 1) expect(sessions).toEqual([]);
      else expect(sessions.length).toBeGreaterThan(0);
    },
    60_000,
  );

  it("is answered over a real socket whose connections are kept", async () => {
    const complaints: unknown[] = [];
    let selection: Selection | undefined;
    const line = await openLine("socket", createTarget(complaints), {
      onSelection: (found) => {
        selection = found;
      },
    });
    try {
      const random = new Random(seed);
      for (let count = 0; count < overSocket; count++) {
        const sent = createHostile(random, []);
        selection = undefined;
        const raw = await inTime(line.send(sent));
        const got: Answered = {
          stream: false,
          status: raw.status,
          contentType: raw.headers["content-type"] ?? "",
          session: undefined,
          text: raw.text,
        };
        // Node refuses a method it does not know by itself, so that one never gets here.
        if (sent.method === "BREW") expect(raw.status).toBe(400);
        else report(judge(sent, got, selection, revisions), sent, got);
      }
      expect(complaints).toEqual([]);
    } finally {
      await line.close();
    }
  }, 60_000);
});
