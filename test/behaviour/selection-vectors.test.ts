/** Every pair of selection.json, over the pure functions and over both bridges. */
import { type AdapterSet, allRevisions, Rejection, readPreamble, select } from "anyrev/node";
import { afterAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Bridge, bridgeKinds, type Got, openBridge } from "../support/bridge.ts";
import { initializeParams } from "../support/messages.ts";
import { isObject, type JsonObject, type Revision, revisions } from "../support/schemas.ts";
import { bytesOf, type ExpectedHttp, type Vector, vectors } from "../support/vectors.ts";
import { checkReply } from "../support/wire.ts";

const server = createFixture({ extra: true });

test("There are 152 pairs, each with an id of its own and something to expect", () => {
  expect(new Set(vectors.map(({ id }) => id)).size).toBe(152);
  expect(vectors).toHaveLength(152);
  for (const { id, expect: expected } of vectors) {
    expect(Object.keys(expected), id).not.toHaveLength(0);
    for (const kind of Object.keys(expected)) expect(["select", "refuse", "http"]).toContain(kind);
  }
});

describe("The pure selection", () => {
  const pure = vectors.filter(({ expect: { select, refuse } }) => select ?? refuse);

  test.each(pure)("decides $id as its pair says", ({ request, revisions, expect: expected }) => {
    const adapters = revisions ? allRevisions.narrow(revisions) : allRevisions;
    const bytes = bytesOf(request)!;
    const preamble = readPreamble(bytes, request.headers, request.query);
    if (expected.select) {
      const { revision, reason } = select(preamble, adapters, request.session);
      expect({ revision, reason }).toEqual(expected.select);
      return;
    }
    const rejection = rejectionOf(() => select(preamble, adapters, request.session));
    const error = adapters.newest.error(rejection.failure);
    expect(error).toMatchObject(expected.refuse!);
    if (error.code === -32022) checkVersions(rejection, adapters, expected.refuse?.data);
  });

  test("decides 115 of the pairs", () => {
    expect(pure).toHaveLength(115);
  });
});

function rejectionOf(run: () => unknown): Rejection {
  try {
    run();
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

function checkVersions(rejection: Rejection, adapters: AdapterSet, data?: JsonObject): void {
  expect(rejection.kind).toBe("unsupported-revision");
  expect(rejection.supported).toEqual(adapters.supported);
  expect(rejection.requested).toBeTypeOf("string");
  if (data) expect(rejection.requested).toBe(data["requested"]);
}

describe.each(bridgeKinds)("Over the %s bridge", (kind) => {
  const bridges = new Map<string, Promise<Bridge>>();
  const ran = new Set<string>();

  function bridgeFor(served: readonly string[] | undefined): Promise<Bridge> {
    const key = served?.join() ?? "all";
    const open = bridges.get(key) ?? openBridge(kind, server, { revisions: served });
    bridges.set(key, open);
    return open;
  }

  afterAll(async () => {
    for (const bridge of bridges.values()) await (await bridge)[Symbol.asyncDispose]();
  });

  test.each(vectors)("$id is answered as its pair says", async (vector) => {
    const got = await exchange(await bridgeFor(vector.revisions), vector);
    checkSelection(vector, got);
    if (vector.expect.refuse) checkRefusal(vector, got);
    if (vector.expect.http) checkHttp(vector.expect.http, got);
    expect(problemsOf(vector, got)).toEqual([]);
    ran.add(vector.id);
  });

  test("all 152 pairs were tried", () => {
    expect(ran.size).toBe(152);
  });
});

async function exchange(bridge: Bridge, { request }: Vector): Promise<Got> {
  const { httpMethod, query, session } = request;
  const headers = { ...request.headers };
  if (session !== undefined) headers["mcp-session-id"] = await openSession(bridge, session);
  return bridge.send({ method: httpMethod, query, headers, body: bytesOf(request) });
}

async function openSession(bridge: Bridge, revision: string): Promise<string> {
  const params = initializeParams(revisionNamed(revision));
  const body = { jsonrpc: "2.0", id: "open", method: "initialize", params };
  const got = await bridge.send({ body });
  expect(got.json).toMatchObject({ result: { protocolVersion: revision } });
  return got.headers.get("mcp-session-id")!;
}

function revisionNamed(date: unknown): Revision {
  const found = revisions.find((revision) => revision === date);
  if (found === undefined) throw new Error(`${String(date)} is no revision`);
  return found;
}

/** The endpoint reports what it selected, also where the pair speaks of the answer alone. */
function checkSelection({ expect: expected, request }: Vector, { selections }: Got): void {
  if (expected.refuse || request.httpMethod) {
    expect(selections).toEqual([]);
    return;
  }
  expect(selections).toHaveLength(1);
  if (expected.select) expect(selections[0]).toMatchObject(expected.select);
}

function checkRefusal({ expect: { refuse } }: Vector, { status, json }: Got): void {
  expect(status).toBe(refuse?.status);
  const error = errorOf(json);
  if (refuse?.code !== undefined) expect(error["code"]).toBe(refuse.code);
  if (refuse?.data) expect(error["data"]).toEqual(refuse.data);
}

function checkHttp(expected: ExpectedHttp, got: Got): void {
  if (expected.anyOf) {
    expect(expected.anyOf.some((one) => passes(() => checkHttp(one, got)))).toBe(true);
    return;
  }
  expect(got.status).toBe(expected.status);
  if (expected.error !== undefined) expect(errorOf(got.json)["code"]).toBe(expected.error);
  if (expected.messageIncludes !== undefined) {
    expect(errorOf(got.json)["message"]).toContain(expected.messageIncludes);
  }
  if (expected.result) expect(resultOf(got.json)).toMatchObject(expected.result);
  for (const name of expected.resultLacks ?? []) {
    expect(resultOf(got.json)).not.toHaveProperty([name]);
  }
  if (expected.headerAbsent !== undefined) {
    expect(got.headers.get(expected.headerAbsent)).toBeNull();
  }
  if (expected.emptyBody) expect(got.text).toBe("");
  if (expected.status === 200 && expected.error === undefined) {
    for (const reply of repliesOf(got)) expect(reply).toHaveProperty("result");
  }
}

function passes(check: () => void): boolean {
  try {
    check();
    return true;
  } catch {
    // One of several permitted answers; the caller asks whether any of them fits.
    return false;
  }
}

function errorOf(json: unknown): JsonObject {
  expect(json).toHaveProperty("error");
  const error = isObject(json) ? json["error"] : undefined;
  return isObject(error) ? error : {};
}

function resultOf(json: unknown): JsonObject {
  expect(json).toHaveProperty("result");
  const result = isObject(json) ? json["result"] : undefined;
  return isObject(result) ? result : {};
}

function repliesOf({ json, text }: Got): unknown[] {
  return text === "" ? [] : [json].flat();
}

/** What the official schemas have against the answer, in the revision that it is written in. */
function problemsOf({ request, revisions: served }: Vector, got: Got): string[] {
  const sent: unknown = parse(bytesOf(request));
  return repliesOf(got).flatMap((reply) => {
    const asked = Array.isArray(got.json) && Array.isArray(sent) ? askedOf(sent, reply) : sent;
    const { id, method, params } = isObject(asked) ? asked : {};
    const isRead = typeof id === "string" || typeof id === "number";
    const outline = {
      method: String(method),
      params,
      ...(isRead && !request.httpMethod && { id }),
    };
    return checkReply(revisionOf(reply, got, served), outline, reply);
  });
}

function askedOf(batch: readonly unknown[], reply: unknown): unknown {
  const id = isObject(reply) ? reply["id"] : undefined;
  return batch.find((message) => isObject(message) && message["id"] === id);
}

function parse(bytes: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    // A pair of rule 1: there is nothing in it that a reply could refer to.
    return undefined;
  }
}

/** A handshake answers in what it settled on, a refusal in the newest revision. */
function revisionOf(reply: unknown, got: Got, served: readonly string[] = revisions): Revision {
  const result = isObject(reply) ? reply["result"] : undefined;
  const negotiated = isObject(result) ? result["protocolVersion"] : undefined;
  const newest = [...served].sort().at(-1);
  return revisionNamed(negotiated ?? got.selections[0]?.revision ?? newest);
}
