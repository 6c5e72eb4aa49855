/** REPORTS.md, client side: what servers list and answer. */
import type { ClientOptions } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { connect } from "../support/connecting.ts";
import { collect } from "../support/counting.ts";
import { FakeHttp } from "../support/fake-http.ts";
import {
  discoverable,
  FakePeer,
  handshaking,
  paramsOf,
  type Script,
} from "../support/fake-peer.ts";
import type { JsonObject } from "../support/schemas.ts";
import { revisions } from "../support/wire.ts";

const hints = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

function tool(name: string, more: JsonObject = {}): JsonObject {
  return { name, inputSchema: { type: "object" }, ...more };
}

/** A server of these tools, each of which answers what is given for it. */
function offering(tools: readonly JsonObject[], results: JsonObject): Script {
  return discoverable(["2026-07-28"], (message) => {
    if (message["method"] === "tools/list") return { result: { ...hints, tools } };
    const result = results[String(paramsOf(message)["name"])] as JsonObject;
    return { result: { resultType: "complete", content: [], ...result } };
  });
}

async function using<T>(
  script: Script,
  run: (client: Awaited<ReturnType<typeof connect>>) => Promise<T>,
  options: ClientOptions = {},
): Promise<T> {
  const client = await connect(new FakePeer(script).target, options);
  try {
    return await run(client);
  } finally {
    await client.close();
  }
}

const number = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

describe("structured results", () => {
  test("R089: of a failure are not held against the schema, those of a success are", () =>
    using(
      offering(
        [tool("a", { outputSchema: number })].concat(
          ["b", "c", "d"].map((name) => tool(name, { outputSchema: number })),
        ),
        {
          a: { content: [{ type: "text", text: "not found" }], isError: true },
          b: { structuredContent: { err: 1 }, isError: true },
          c: { structuredContent: { err: 1 } },
          d: { content: [{ type: "text", text: "{}" }] },
        },
      ),
      async (client) => {
        await client.list("tools");
        expect(await client.call("a")).toMatchObject({ isError: true, text: "not found" });
        expect(await client.call("b")).toMatchObject({ isError: true, structured: { err: 1 } });
        for (const name of ["c", "d"]) {
          expect((await refusal(client.call(name))).kind).toBe("invalid-answer");
        }
      },
    ));

  test("R089: are not held against it by whoever does not want that", () =>
    using(
      offering([tool("c", { outputSchema: number })], { c: { structuredContent: { err: 1 } } }),
      async (client) => {
        await client.list("tools");
        expect((await client.call("c")).structured).toEqual({ err: 1 });
      },
      { validateOutput: false },
    ));

  test.each([[0], [false], [""], [null], [[]]])(
    "R090: that are %j count as results, and are checked",
    (value) => {
      const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
      return using(
        offering(
          [
            tool("right", { outputSchema: { type } }),
            tool("wrong", { outputSchema: { type: "object" } }),
          ],
          { right: { structuredContent: value }, wrong: { structuredContent: value } },
        ),
        async (client) => {
          await client.list("tools");
          expect((await client.call("right")).structured).toEqual(value);
          expect((await refusal(client.call("wrong"))).kind).toBe("invalid-answer");
        },
      );
    },
  );
});

describe("schemas", () => {
  const draft = (dialect: string) => ({
    $schema: dialect,
    type: "object",
    properties: { a: { type: "string" } },
  });

  test.each([
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2020-12/schema",
  ])("R091: of the dialect %s are known", (dialect) =>
    using(
      offering([tool("a", { outputSchema: draft(dialect), inputSchema: draft(dialect) })], {
        a: { structuredContent: { a: "x" } },
      }),
      async (client) => {
        expect(await client.list("tools")).toHaveLength(1);
        expect((await client.call("a")).structured).toEqual({ a: "x" });
      },
    ),
  );

  test("R091: of an unknown dialect check nothing, with a warning, and other tools live", () => {
    const warnings: string[] = [];
    return using(
      offering([tool("a", { outputSchema: draft("urn:x-unknown") }), tool("b")], {
        a: { structuredContent: { a: 1 } },
        b: {},
      }),
      async (client) => {
        expect(await client.list("tools")).toHaveLength(2);
        await client.call("b");
        await client.call("a");
        expect(warnings).toEqual([expect.stringContaining("dialect")]);
      },
      { onWarning: (warning) => warnings.push(warning) },
    );
  });

  test("R093: that refer to elsewhere are fetched by nobody, and let nothing through", async () => {
    await using stranger = await FakeHttp.open((_, response) => response.end("{}"));
    const refers = (keyword: string) => ({
      type: "object",
      properties: { a: { [keyword]: stranger.url } },
    });
    await using(
      offering(
        [
          tool("out", { outputSchema: refers("$ref") }),
          tool("dynamic", { outputSchema: refers("$dynamicRef") }),
          tool("in", { inputSchema: refers("$ref") }),
          tool("dialect", { outputSchema: { $schema: stranger.url, type: "object" } }),
        ],
        {
          out: { structuredContent: { a: 1 } },
          dynamic: { structuredContent: { a: 1 } },
          in: {},
          dialect: { structuredContent: {} },
        },
      ),
      async (client) => {
        expect(await client.list("tools")).toHaveLength(4);
        for (const name of ["out", "dynamic"]) {
          expect((await refusal(client.call(name))).kind).toBe("invalid-answer");
        }
        await client.call("in");
        await client.call("dialect");
      },
    );
    expect(stranger.connections).toBe(0);
  });

  test("R094: that never end harm their own tool alone", () =>
    using(
      offering(
        [
          tool("endless", { outputSchema: { allOf: [{ $ref: "#" }, { $ref: "#" }] } }),
          tool("pattern", { outputSchema: { type: "string", pattern: "^(a+)+$" } }),
          tool("first", { outputSchema: { $id: "urn:x", type: "object", required: ["a"] } }),
          tool("second", { outputSchema: { $id: "urn:x", type: "object", required: ["b"] } }),
        ],
        {
          endless: { structuredContent: {} },
          pattern: { structuredContent: `${"a".repeat(60)}!` },
          first: { structuredContent: { a: 1 } },
          second: { structuredContent: { a: 1 } },
        },
      ),
      async (client) => {
        expect(await client.list("tools")).toHaveLength(4);
        for (const name of ["endless", "pattern", "second"]) {
          expect((await refusal(client.call(name))).kind).toBe("invalid-answer");
        }
        expect((await client.call("first")).structured).toEqual({ a: 1 });
      },
    ));

  test.each([
    [200, 2, "invalid-answer"],
    [5_000, 0, undefined],
  ])("R094: of %d levels leave the connection alone", (levels, listed, kind) => {
    const outputSchema = `${'{"items":'.repeat(levels)}{}${"}".repeat(levels)}`;
    const results = offering([], { flat: {}, deep: { structuredContent: {} } });
    const script: Script = (message, line) => {
      if (message["method"] !== "tools/list") return results(message, line);
      const tools = JSON.stringify([tool("flat"), tool("deep", { outputSchema: "HERE" })]);
      const result = `{"resultType":"complete","tools":${tools.replace('"HERE"', outputSchema)}}`;
      line.write(`{"jsonrpc":"2.0","id":${message["id"]},"result":${result}}\n`);
      return undefined;
    };
    return using(script, async (client) => {
      const listing = client.list("tools");
      if (listed === 0) expect((await refusal(listing)).kind).toBe("invalid-answer");
      else expect(await listing).toHaveLength(listed);
      await client.call("flat");
      const call = client.call("deep");
      if (kind === undefined) await call;
      else expect((await refusal(call)).kind).toBe(kind);
    });
  });

  test("R096: that are listed again and again leave nothing behind", async () => {
    let listed = 0;
    const script: Script = discoverable(["2026-07-28"], ({ method }) => {
      if (method !== "tools/list")
        return { result: { resultType: "complete", content: [], structuredContent: { n: 1 } } };
      // Fresh each time, so that nothing is recognised by identity.
      const outputSchema = { ...number, description: `listed ${++listed}` };
      return { result: { ...hints, tools: [tool("a", { outputSchema })] } };
    });
    const peer = new FakePeer(script);
    const client = await connect(peer.target);
    const run = async (times: number) => {
      for (let at = 0; at < times; at++) {
        await client.list("tools");
        await client.call("a");
        peer.last.heard.length = 0;
      }
      await collect();
      return process.memoryUsage().heapUsed;
    };
    await run(200);
    const before = await run(200);
    expect((await run(2_000)) - before).toBeLessThan(2_000_000);
    await client.close();
  });
});

describe("listings", () => {
  test.each([
    ["the same page under the same cursor", () => "c1"],
    ["cursors in a circle", (at: number) => `c${at % 3}`],
    ["an empty cursor", () => ""],
  ])("R102: that do not come to an end are cut off: %s", async (_, next) => {
    const warnings: string[] = [];
    const tools = Array.from({ length: 8 }, (_, index) => tool(`tool ${index}`));
    let asked = 0;
    const script = discoverable(["2026-07-28"], () => ({
      result: { ...hints, tools, nextCursor: next(asked++) },
    }));
    await using(script, async (client) => expect(await client.list("tools")).toHaveLength(8), {
      onWarning: (warning) => warnings.push(warning),
    });
    expect(asked).toBeLessThanOrEqual(5);
    expect(warnings).toHaveLength(1);
  });

  test("R102: of pages without number are cut off at a thousand", () => {
    let asked = 0;
    const script = discoverable(["2026-07-28"], () => ({
      result: { ...hints, prompts: [{ name: `p${asked}` }], nextCursor: `c${asked++}` },
    }));
    return using(script, async (client) => {
      expect((await client.list("prompts")).length).toBeLessThanOrEqual(1_001);
      expect(asked).toBeLessThanOrEqual(1_001);
    });
  });
});

describe("capabilities", () => {
  const all: ClientOptions = {
    onAsk: () => ({ action: "cancel" }),
    onSample: () => ({ content: "", model: "" }),
    onRoots: [],
  };
  const older = { roots: { listChanged: true }, sampling: {} };
  const expected = {
    "2026-07-28": { roots: {}, sampling: {}, elicitation: { form: {}, url: {} } },
    "2025-11-25": { ...older, elicitation: { form: {}, url: {} } },
    "2025-06-18": { ...older, elicitation: {} },
    "2025-03-26": older,
    "2024-11-05": older,
  };

  test.each(revisions)("R088: are declared as %s has them", async (revision) => {
    const isModern = revision === "2026-07-28";
    const peer = new FakePeer(isModern ? discoverable([revision]) : handshaking(revision));
    const client = await connect(peer.target, { revisions: revision, ...all });
    await client.close();
    const [first] = peer.last.heard;
    const { _meta, capabilities } = paramsOf(first!) as Record<string, JsonObject>;
    const declared = isModern
      ? _meta?.["io.modelcontextprotocol/clientCapabilities"]
      : capabilities;
    expect(declared).toEqual(expected[revision]);
  });
});
