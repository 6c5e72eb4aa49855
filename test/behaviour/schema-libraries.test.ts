import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { Ajv2020 } from "ajv/dist/2020.js";
import { fullFormats } from "ajv-formats/dist/formats.js";
import {
  createEndpoint,
  createServer,
  DeclarationError,
  type LogEntry,
  type SchemaCompiler,
  type Server,
} from "anyrev";
import { serve } from "anyrev/node";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { headersFor, request } from "../support/messages.ts";
import { isObject, type JsonObject } from "../support/schemas.ts";
import { assertReply, type Revision, revisions } from "../support/wire.ts";

interface Order {
  readonly count: number;
  readonly kind: "small" | "large";
  readonly tags?: readonly string[] | undefined;
}

/** The results that the tool of each library gives back; a count of 99 breaks what it promised. */
const fulfil = ({ count, kind, tags = [] }: Order) => ({
  total: count === 99 ? "many" : count * 2,
  label: [kind, ...tags].join(" "),
});
type Fulfilled = { total: number; label: string };

const rawInput = {
  type: "object",
  properties: {
    count: { type: "integer", minimum: 1 },
    kind: { type: "string", enum: ["small", "large"] },
    tags: { type: "array", items: { type: "string" } },
  },
  required: ["count", "kind"],
} as const;

const rawOutput = {
  type: "object",
  properties: { total: { type: "integer" }, label: { type: "string" } },
  required: ["total", "label"],
} as const;

/** Declares the tool `order` with the schemas of one library. */
const libraries: Readonly<Record<string, (log: (entry: LogEntry) => void) => Server>> = {
  "zod 4": (log) => {
    const server = newServer({ log });
    server.tool(
      "order",
      {
        input: z.object({
          count: z.int().min(1),
          kind: z.enum(["small", "large"]),
          tags: z.array(z.string()).optional(),
        }),
        output: z.object({ total: z.int(), label: z.string() }),
      },
      (args) => fulfil(args) as Fulfilled,
    );
    return server;
  },
  arktype: (log) => {
    const server = newServer({ log });
    server.tool(
      "order",
      {
        input: type({
          count: "number.integer >= 1",
          kind: "'small' | 'large'",
          "tags?": "string[]",
        }),
        output: type({ total: "number.integer", label: "string" }),
      },
      (args) => fulfil(args) as Fulfilled,
    );
    return server;
  },
  valibot: (log) => {
    const server = newServer({ log });
    server.tool(
      "order",
      {
        input: toStandardJsonSchema(
          v.object({
            count: v.pipe(v.number(), v.integer(), v.minValue(1)),
            kind: v.picklist(["small", "large"]),
            tags: v.optional(v.array(v.string())),
          }),
        ),
        output: toStandardJsonSchema(
          v.object({ total: v.pipe(v.number(), v.integer()), label: v.string() }),
        ),
      },
      (args) => fulfil(args) as Fulfilled,
    );
    return server;
  },
  "raw JSON Schema": (log) => declareRaw(newServer({ log })),
  "raw JSON Schema, compiled by ajv": (log) =>
    declareRaw(newServer({ log, schemaCompiler: compileWithAjv })),
};

function declareRaw(server: Server): Server {
  server.tool("order", { input: rawInput, output: rawOutput }, (args) => fulfil(args) as Fulfilled);
  return server;
}

const compileWithAjv: SchemaCompiler = (schema) => {
  const validate = new Ajv2020({ allErrors: true, formats: fullFormats }).compile(schema);
  return (value) => {
    if (validate(value)) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => ({
      path: instancePath.slice(1),
      message: message ?? "is not valid",
    }));
  };
};

function newServer(options: {
  log?: (entry: LogEntry) => void;
  schemaCompiler?: SchemaCompiler;
}): Server {
  return createServer({ name: "libraries", version: "1.0.0", ...options });
}

interface Caller extends AsyncDisposable {
  result(method: string, params?: JsonObject): Promise<JsonObject>;
}

type Bridge = "fetch" | "node";

/** Asks without a session and judges what comes back. */
async function openCaller(revision: Revision, bridge: Bridge, server: Server): Promise<Caller> {
  const serving = bridge === "node" ? await serve(server, { port: 0 }) : undefined;
  const send = serving === undefined ? createEndpoint(server).fetch : fetch;
  let id = 0;
  return {
    result: async (method, params) => {
      const message = request(revision, ++id, method, params);
      const headers = headersFor(revision, message);
      // Without a session only a header tells the first revision from the second.
      if (revision === "2024-11-05") headers["mcp-protocol-version"] = revision;
      const url = serving?.url ?? "http://localhost/mcp";
      const body = JSON.stringify(message);
      const response = await send(new Request(url, { method: "POST", headers, body }));
      const reply: unknown = await response.json();
      assertReply(revision, message, reply);
      if (isObject(reply) && isObject(reply["result"])) return reply["result"];
      throw new Error(`no result: ${JSON.stringify(reply)}`);
    },
    [Symbol.asyncDispose]: async () => serving?.close(),
  };
}

const rows = Object.entries(libraries).flatMap(([library, declare]) =>
  revisions.flatMap((revision) =>
    (["fetch", "node"] as const).map((bridge) => ({ library, declare, revision, bridge })),
  ),
);

describe.each(rows)("a tool with $library in $revision over $bridge", (row) => {
  const { declare, revision, bridge } = row;
  const hasStructured = revision >= "2025-06-18";

  test("is listed with what its schemas say, and called with what they admit", async () => {
    await using caller = await openCaller(revision, bridge, declare(failOnLog));
    const list = await caller.result("tools/list");
    expect(list).toMatchObject({ tools: [{ name: "order", inputSchema: { type: "object" } }] });
    const { inputSchema, outputSchema } = (list as { tools: [Record<string, JsonObject>] })
      .tools[0];
    expect(Object.keys(inputSchema?.["properties"] ?? {}).toSorted()).toEqual([
      "count",
      "kind",
      "tags",
    ]);
    expect(inputSchema).toMatchObject({
      properties: { count: { type: "integer", minimum: 1 } },
      required: ["count", "kind"],
    });
    expect(outputSchema?.["required"]?.toString().split(",").toSorted()).toEqual(
      hasStructured ? ["label", "total"] : undefined,
    );
    const args = { count: 2, kind: "large", tags: ["blue", "wét"] };
    const value = { total: 4, label: "large blue wét" };
    const result = await caller.result("tools/call", { name: "order", arguments: args });
    expect(result["isError"] ?? false).toBe(false);
    expect(result["structuredContent"]).toEqual(hasStructured ? value : undefined);
    expect(JSON.parse(textOf(result))).toEqual(value);
  });

  test("tells its caller what to mend in bad arguments and does not run", async () => {
    await using caller = await openCaller(revision, bridge, declare(failOnLog));
    const bad: readonly [args: JsonObject, where: string][] = [
      [{ kind: "small" }, "count"],
      [{ count: 99.5, kind: "small" }, "count"],
      [{ count: 0, kind: "small" }, "count"],
      [{ count: "2", kind: "small" }, "count"],
      [{ count: 1, kind: "huge" }, "kind"],
      [{ count: 1, kind: "small", tags: ["blue", 7] }, "tags/1"],
    ];
    for (const [args, where] of bad) {
      const result = await caller.result("tools/call", { name: "order", arguments: args });
      expect(result["isError"], JSON.stringify(args)).toBe(true);
      expect(textOf(result)).toContain(where);
      expect(result["structuredContent"]).toBeUndefined();
    }
  });

  test("keeps a result that breaks its output schema from its caller and tells the log", async () => {
    const entries: LogEntry[] = [];
    const server = declare((entry) => entries.push(entry));
    await using caller = await openCaller(revision, bridge, server);
    const args = { count: 99, kind: "small" };
    const result = await caller.result("tools/call", { name: "order", arguments: args });
    expect(result["isError"]).toBe(true);
    expect(JSON.stringify(result)).not.toContain("many");
    expect(entries).toMatchObject([{ level: "error", details: { issues: [{ path: "total" }] } }]);
  });
});

describe.each(revisions)("in %s", (revision) => {
  test("a handler receives what a schema makes of the arguments", async () => {
    const server = newServer({});
    server.tool("zod", { input: z.object({ n: z.coerce.number().default(5) }) }, (args) => args);
    server.tool("arktype", { input: type({ n: "number = 5" }) }, (args) => args);
    const valibot = toStandardJsonSchema(v.object({ n: v.optional(v.number(), 5) }));
    server.tool("valibot", { input: valibot }, (args) => args);
    await using caller = await openCaller(revision, "fetch", server);
    for (const name of ["zod", "arktype", "valibot"]) {
      const result = await caller.result("tools/call", { name, arguments: {} });
      expect(textOf(result), name).toBe('{"n":5}');
    }
    const coerced = await caller.result("tools/call", { name: "zod", arguments: { n: "7" } });
    expect(textOf(coerced)).toBe('{"n":7}');
  });

  test("a check may take its time", async () => {
    const server = newServer({});
    const name = z.string().refine(async (word) => (await Promise.resolve(word)) !== "taken", {
      error: "is taken",
    });
    server.tool("register", { input: z.object({ name }) }, (args) => `registered ${args.name}`);
    await using caller = await openCaller(revision, "fetch", server);
    const call = (word: string) =>
      caller.result("tools/call", { name: "register", arguments: { name: word } });
    expect(textOf(await call("free"))).toBe("registered free");
    const refused = await call("taken");
    expect(refused["isError"]).toBe(true);
    expect(textOf(refused)).toContain("name: is taken");
  });

  test("a compiler that was passed in decides on raw schemas, and compiles each once", async () => {
    const compiled: unknown[] = [];
    const server = newServer({
      schemaCompiler: (schema) => {
        compiled.push(schema);
        return compileWithAjv(schema);
      },
    });
    const input = {
      type: "object",
      properties: { day: { type: "string", format: "date" } },
      required: ["day"],
    } as const;
    server.tool("day", { input }, ({ day }) => day);
    expect(compiled).toEqual([input]);
    await using caller = await openCaller(revision, "fetch", server);
    const call = (day: string) => caller.result("tools/call", { name: "day", arguments: { day } });
    expect(textOf(await call("2024-02-29"))).toBe("2024-02-29");
    const refused = await call("2023-02-29");
    expect(refused["isError"]).toBe(true);
    expect(textOf(refused)).toContain('day: must match format "date"');
    expect(compiled).toHaveLength(1);
  });
});

test("a schema that a compiler refuses is refused with the tool that has it", () => {
  const server = newServer({ schemaCompiler: compileWithAjv });
  const input = { type: "object", properties: { a: { type: "string", format: "unheard-of" } } };
  expect(() => server.tool("odd", { input }, () => "")).toThrow(DeclarationError);
  expect(() => server.tool("odd", { input }, () => "")).toThrow(/odd.*unheard-of/);
});

function failOnLog(entry: LogEntry): void {
  throw new Error(`logged: ${entry.message}`);
}

function textOf({ content }: JsonObject): string {
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  if (isObject(first) && typeof first["text"] === "string") return first["text"];
  throw new Error(`no text: ${JSON.stringify(content)}`);
}
