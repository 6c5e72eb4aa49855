/** Servers that keep a client waiting: nothing waits longer than it was told to. */
import type { ClientOptions } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { connect } from "../support/connecting.ts";
import { modern, using } from "../support/fake-endpoints.ts";
import {
  event,
  FakeHttp,
  note,
  openStream,
  type Respond,
  result,
  sendJson,
} from "../support/fake-http.ts";
import { discoverable, FakePeer, initializeResult, textResult } from "../support/fake-peer.ts";
import { until } from "../support/visit.ts";

const revisions = "2025-11-25";

/** A server of the handshake, in sessions, of which some answers are the test's. */
function older(own: Respond): Promise<FakeHttp> {
  return FakeHttp.open((request, response) => {
    const { rpcMethod, id, method } = request;
    if (own(request, response) !== undefined) return undefined;
    if (rpcMethod === "initialize") {
      const text = result(id, initializeResult(revisions));
      return sendJson(response, text, 200, { "mcp-session-id": "S" });
    }
    if (method !== "POST") return response.writeHead(method === "GET" ? 405 : 204).end();
    if (id === undefined) return response.writeHead(202).end();
    return sendJson(response, result(id, textResult("done")));
  });
}

describe("a call", () => {
  test("waits no longer than it is told to for a process that is started again", async () => {
    const right = discoverable(["2026-07-28"], () => ({ result: textResult("done") }));
    const peer = new FakePeer(right);
    const client = await connect(peer.target);
    peer.script = () => undefined;
    peer.last.gone();
    await new Promise((resolve) => setTimeout(resolve, 5));
    const startedAt = performance.now();
    const short = [{ timeoutMs: 30 }, { maxTimeoutMs: 30 }].map((options) =>
      refusal(client.call("do", {}, options)),
    );
    for (const each of short) expect((await each).kind).toBe("timeout");
    expect(performance.now() - startedAt).toBeLessThan(4_000);
    const giveUp = new AbortController();
    const given = refusal(client.call("do", {}, { signal: giveUp.signal }));
    giveUp.abort();
    expect((await given).kind).toBe("aborted");
    expect(peer.lines).toHaveLength(2);
    const [{ id } = {}] = peer.last.heard;
    const call = client.call("do");
    peer.script = right;
    const supportedVersions = ["2026-07-28"];
    const result = { resultType: "complete", supportedVersions, capabilities: {} };
    peer.last.say({ jsonrpc: "2.0", id, result });
    expect((await call).text).toBe("done");
    await client.close();
  });
});

describe("connecting", () => {
  test("does not wait for a stream that does not open", async () => {
    await using fake = await older(({ method }) => (method === "GET" ? "never" : undefined));
    const options: ClientOptions = { revisions, onLog: () => undefined, onRoots: [] };
    await using(
      fake.url,
      async (client) => {
        expect((await client.call("do")).text).toBe("done");
      },
      options,
    );
    expect(fake.having("GET")).toHaveLength(1);
  });

  test("does not wait for ever for a notification to be taken", async () => {
    await using fake = await older(({ rpcMethod }) =>
      rpcMethod === "notifications/initialized" ? "never" : undefined,
    );
    const failed = await refusal(connect(fake.url, { revisions, timeoutMs: 50 }));
    expect(failed.kind).toBe("timeout");
  });
});

describe("listening", () => {
  test("begins although its stream does not open, and hears once it does", async () => {
    let open: () => void = () => undefined;
    await using fake = await older(({ method }, response) => {
      if (method !== "GET") return undefined;
      open = () => openStream(response).write(event(note("notifications/tools/list_changed")));
      return "later";
    });
    await using(
      fake.url,
      async (client) => {
        const heard: unknown[] = [];
        await client.listen({ lists: ["tools"] }, (change) => heard.push(change));
        open();
        await until(
          () => heard,
          ({ length }) => length === 1,
        );
      },
      { revisions, timeoutMs: 50 },
    );
  });

  test("that is never acknowledged is given up, and the server hears of it", async () => {
    await using fake = await modern(() => "never");
    await using(
      fake.url,
      async (client) => {
        const failed = await refusal(client.listen({ lists: ["tools"] }, () => undefined));
        expect(failed.kind).toBe("timeout");
        await until(
          () => fake.requests.at(-1)?.isGone(),
          (isGone) => isGone === true,
        );
      },
      { timeoutMs: 50 },
    );
  });

  test.each([
    [{ toolsListChanged: true, resourceSubscriptions: ["note://a"] }, "prompts, note://b"],
    [{}, "tools, prompts, note://a, note://b"],
    [
      { toolsListChanged: "yes", resourceSubscriptions: "note://a" },
      "tools, prompts, note://a, note://b",
    ],
    [
      {
        toolsListChanged: true,
        promptsListChanged: true,
        resourceSubscriptions: ["note://a", "note://b"],
      },
      undefined,
    ],
  ])("warns of what the server does not tell of: %j", async (notifications, missing) => {
    await using fake = await modern(({ id }, response) => {
      const _meta = { "io.modelcontextprotocol/subscriptionId": id };
      const params = { _meta, notifications };
      openStream(response).write(event(note("notifications/subscriptions/acknowledged", params)));
    });
    const warnings: string[] = [];
    const interests = { lists: ["tools", "prompts"], uris: ["note://a", "note://b"] } as const;
    await using(
      fake.url,
      async (client) => void (await client.listen(interests, () => undefined)),
      { onWarning: (warning) => warnings.push(warning) },
    );
    expect(warnings).toEqual(missing === undefined ? [] : [expect.stringContaining(missing)]);
  });

  test("warns where the server has no stream to tell of changes on", async () => {
    await using fake = await older(() => undefined);
    const warnings: string[] = [];
    await using(
      fake.url,
      async (client) => {
        expect(warnings).toEqual([]);
        await client.listen({ lists: ["tools"] }, () => undefined);
        expect(warnings).toEqual([expect.stringContaining("no stream")]);
      },
      { revisions, onLog: () => undefined, onWarning: (warning) => warnings.push(warning) },
    );
  });
});

describe("telling that the roots have changed", () => {
  const options: ClientOptions = { revisions, onRoots: [], timeoutMs: 50 };
  const isTold = ({ rpcMethod }: { readonly rpcMethod: string | undefined }) =>
    rpcMethod === "notifications/roots/list_changed";

  test("opens a session anew that is lost", async () => {
    await using fake = await older((request, response) =>
      isTold(request) ? response.writeHead(404).end() : undefined,
    );
    await using(fake.url, (client) => client.rootsChanged(), options);
    const hellos = fake.requests.filter(({ rpcMethod }) => rpcMethod === "initialize");
    expect(hellos).toHaveLength(2);
  });

  test("does not wait for ever", async () => {
    await using fake = await older((request) => (isTold(request) ? "never" : undefined));
    await using(
      fake.url,
      async (client) => expect((await refusal(client.rootsChanged())).kind).toBe("timeout"),
      options,
    );
  });
});
