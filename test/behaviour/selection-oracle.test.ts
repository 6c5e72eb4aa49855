/** The library against a second writing of the rules: every combination, and a sample over HTTP. */
import {
  type AdapterSet,
  allRevisions,
  createEndpoint,
  type Endpoint,
  MemorySessions,
  type Preamble,
  Rejection,
  readPreamble,
  type Selection,
  select,
} from "anyrev/node";
import { beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { initializeParams } from "../support/messages.ts";
import { isObject, type Revision, revisions } from "../support/schemas.ts";
import {
  bodyText,
  dates,
  handshakeDates,
  type Method,
  metas,
  methods,
  pins,
  seeded,
  sets,
  shapes,
  versionHeaders,
} from "../support/selection-cases.ts";
import {
  foresee,
  isRefused,
  judge,
  type ParsedBody,
  parseBody,
  type Verdict,
} from "../support/selection-oracle.ts";
import { checkReply } from "../support/wire.ts";

const enough = 10;

interface Body {
  readonly method: Method;
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly parsed: ParsedBody;
}

const bodies: readonly Body[] = shapes.flatMap((shape) =>
  methods.flatMap((method) =>
    metas.map((meta) => {
      const text = bodyText(shape, method, meta);
      return { method, text, bytes: new TextEncoder().encode(text), parsed: parseBody(text) };
    }),
  ),
);

describe("The pure selection and the oracle", () => {
  // The last two are no session that could be live: a date nobody serves, and no date.
  const negotiated = [undefined, ...handshakeDates, "1999-01-01", "constructor"];
  const served = sets.map((set) => ({ set, adapters: allRevisions.narrow(set) }));

  test("agree on every combination of what selection depends on", () => {
    const kept = Error.stackTraceLimit;
    // Hundreds of thousands of rejections are thrown, and nobody reads their stacks.
    Error.stackTraceLimit = 0;
    const mismatches: unknown[] = [];
    let compared = 0;
    try {
      for (const query of pins) {
        for (const header of versionHeaders) {
          for (const body of bodies) {
            const headers = (name: string) =>
              name === "mcp-protocol-version" ? header : undefined;
            const preamble = readPreamble(body.bytes, headers, query);
            const posted = { query, header, body: body.parsed };
            for (const { set, adapters } of served) {
              for (const session of negotiated) {
                compared += 1;
                const expected = judge(posted, set, session);
                const found = decide(preamble, adapters, session);
                if (agree(found, expected) || mismatches.length >= enough) continue;
                const { text } = body;
                mismatches.push({ query, header, text, set, session, expected, found });
              }
            }
          }
        }
      }
    } finally {
      Error.stackTraceLimit = kept;
    }
    expect(mismatches).toEqual([]);
    expect(compared).toBe(
      pins.length *
        versionHeaders.length *
        (metas.length * methods.length * shapes.length) *
        sets.length *
        negotiated.length,
    );
  });

  test("were compared over every reason to select and every code of a refusal", () => {
    const seen = new Set<unknown>();
    for (const query of pins) {
      for (const header of versionHeaders) {
        for (const body of bodies) {
          const verdict = judge({ query, header, body: body.parsed }, dates, "2025-06-18");
          seen.add(isRefused(verdict) ? verdict.code : verdict.reason);
        }
      }
    }
    seen.add(select(readPreamble(bodies[0]!.bytes), allRevisions).reason);
    const reasons = ["unparseable", "pin", "body", "header", "initialize", "session", "assumed"];
    expect([...seen].sort()).toEqual([...reasons, -32020, -32022, -32602].sort());
  });
});

interface Found extends Partial<Selection> {
  /** What must never be: an error that is no Rejection. */
  readonly thrown?: unknown;
  readonly code?: number;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

function decide(preamble: Preamble, adapters: AdapterSet, session: string | undefined): Found {
  try {
    return select(preamble, adapters, session);
  } catch (error) {
    if (!(error instanceof Rejection)) return { thrown: error };
    const { code, data } = adapters.newest.error(error.failure);
    return { code, data };
  }
}

function agree(found: Found, expected: Verdict): boolean {
  if (!isRefused(expected)) {
    const { revision, reason, adapter } = found;
    const isSame = revision === expected.revision && reason === expected.reason;
    return isSame && adapter?.revision === expected.revision;
  }
  const { requested, supported } = found.data ?? {};
  if (found.code !== expected.code) return false;
  if (expected.requested !== undefined && requested !== expected.requested) return false;
  return expected.supported === undefined || String(supported) === String(expected.supported);
}

describe("An endpoint and the oracle", () => {
  const size = 3_000;
  const store = new MemorySessions();
  const server = createFixture();
  const chosen: Selection[] = [];
  const endpoints = sets.map((set) => ({
    set,
    endpoint: createEndpoint(server, {
      revisions: set,
      sessionStore: store,
      onSelection: (selection) => chosen.push(selection),
    }),
  }));
  /** By the revision that they negotiated; every endpoint shares the store. */
  const sessionIds = new Map<string, string>();

  beforeAll(async () => {
    for (const revision of revisions.slice(1)) {
      sessionIds.set(revision, await openSession(endpoints[0]!.endpoint, revision));
    }
  });

  test("agree on the status, the code and the reason of a sample of requests", async () => {
    const random = seeded(20260728);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)]!;
    const problems: unknown[] = [];
    const statuses = new Set<number>();
    for (let at = 0; at < size && problems.length < enough; at++) {
      const { set, endpoint } = pick(endpoints);
      const body = pick(bodies);
      const sample: Sample = {
        query: pick(pins),
        header: pick(versionHeaders),
        body,
        session: pick([undefined, undefined, "unknown", ...sessionIds.keys()]),
        mcpMethod: pick([undefined, body.method, body.method, "nope"]),
      };
      chosen.length = 0;
      const response = await endpoint.fetch(toRequest(sample, sessionIds));
      const text = await response.text();
      const found = { status: response.status, text, selection: chosen.at(-1) };
      statuses.add(found.status);
      const wrong = compare(sample, set, found);
      if (wrong.length > 0) problems.push({ ...sample, body: body.text, set, found: text, wrong });
    }
    expect(problems).toEqual([]);
    expect([...statuses].sort()).toEqual([200, 400, 404]);
  });
});

async function openSession(endpoint: Endpoint, revision: Revision): Promise<string> {
  const response = await endpoint.fetch(
    post(
      "",
      {},
      { jsonrpc: "2.0", id: 1, method: "initialize", params: initializeParams(revision) },
    ),
  );
  expect(await response.json()).toMatchObject({ result: { protocolVersion: revision } });
  return response.headers.get("mcp-session-id")!;
}

interface Sample {
  readonly query: string;
  readonly header: string | undefined;
  readonly body: Body;
  readonly session: string | undefined;
  readonly mcpMethod: string | undefined;
}

function toRequest(sample: Sample, ids: ReadonlyMap<string, string>): Request {
  const { query, header, session, mcpMethod } = sample;
  const headers = {
    ...(header !== undefined && { "mcp-protocol-version": header }),
    ...(mcpMethod !== undefined && { "mcp-method": mcpMethod }),
    ...(session !== undefined && { "mcp-session-id": ids.get(session) ?? "nobody-has-it" }),
  };
  return post(query, headers, sample.body.text);
}

function post(query: string, headers: Record<string, string>, body: unknown): Request {
  return new Request(`http://localhost/mcp?${query}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly selection: Selection | undefined;
}

/** Where the answer is not what the oracle foresees, or not valid in its revision. */
function compare(sample: Sample, set: readonly string[], found: Answer): string[] {
  const { query, header, session, mcpMethod } = sample;
  // An endpoint without a handshake keeps no sessions, so an id means nothing to it.
  const isKept = set.some((date) => handshakeDates.includes(date));
  const named = isKept ? session : undefined;
  const body = sample.body.parsed;
  const asked = { query, header, body, served: set, session: named, mcpMethod };
  const expected = foresee(asked);
  const verdict = judge(asked, set, named === "unknown" ? undefined : named);
  const json: unknown = JSON.parse(found.text);
  const code = isObject(json) && isObject(json["error"]) ? json["error"]["code"] : undefined;
  const wrong: string[] = [];
  if (found.status !== expected.status) wrong.push(`status: expected ${expected.status}`);
  if (expected.code === "any" ? code === undefined : code !== expected.code) {
    wrong.push(`code: expected ${expected.code}`);
  }
  const { revision, reason } = found.selection ?? {};
  const isExpected = isRefused(verdict)
    ? revision === undefined
    : revision === verdict.revision && reason === verdict.reason;
  if (!isExpected) wrong.push(`selection: expected ${JSON.stringify(verdict)}`);
  return [...wrong, ...problemsOf(json, body.json, revision ?? newestOf(set))];
}

function newestOf(set: readonly string[]): string {
  return dates.find((date) => set.includes(date))!;
}

/** The validators see to it that a handshake reply has no member that 2026-07-28 brought. */
function problemsOf(json: unknown, sent: unknown, selected: string): string[] {
  return [json].flat().flatMap((reply: unknown) => {
    const asked: unknown = Array.isArray(json) ? askedOf(sent, reply) : sent;
    const { id, method, params } = isObject(asked) ? asked : {};
    const outline = { method: String(method), params, ...(id !== undefined && { id }) };
    const result = isObject(reply) && isObject(reply["result"]) ? reply["result"] : {};
    const spoken = result["protocolVersion"] ?? selected;
    return checkReply(revisions.find((date) => date === spoken)!, outline, reply);
  });
}

function askedOf(batch: unknown, reply: unknown): unknown {
  const messages: readonly unknown[] = Array.isArray(batch) ? batch : [];
  const id = isObject(reply) ? reply["id"] : undefined;
  return messages.find((message) => isObject(message) && message["id"] === id);
}
