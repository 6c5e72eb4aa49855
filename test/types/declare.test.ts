import { toStandardJsonSchema } from "@valibot/to-json-schema";
import {
  type Content,
  createServer,
  DeclarationError,
  type Exchange,
  type FromJsonSchema,
  type JsonSchema,
  type Server,
  type TemplateValue,
  text,
} from "anyrev";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";

const newServer = (): Server => createServer({ name: "types", version: "1.0.0" });

describe("what a handler holds", () => {
  test("is for handlers, and nothing of it for whoever serves the call", () => {
    expectTypeOf<keyof Exchange>().toEqualTypeOf<
      | ("principal" | "owner" | "requireScopes")
      | ("client" | "capabilities" | "meta" | "session" | "sessions")
      | ("target" | "signal" | "cancelled")
      | ("ask" | "askAll" | "sample" | "roots" | "once" | "state")
      | ("progress" | "log" | "detach")
      | ("text" | "image" | "audio" | "resource" | "link" | "mixed" | "failed")
    >();
  });
});

describe("an answer", () => {
  const schema = z.object({ size: z.enum(["s", "l"]), count: z.string().transform(Number) });
  type Filled = { size: "s" | "l"; count: number };

  test("holds what its schema gives out once it is accepted, and nothing before", () => {
    newServer().tool("t", {}, async (_, ex) => {
      const answer = await ex.ask("order", { message: "What?", schema });
      // @ts-expect-error It may have been declined.
      answer.content.size;
      if (answer.accepted) expectTypeOf(answer.content).toEqualTypeOf<Filled>();
      else expectTypeOf(answer.action).toEqualTypeOf<"decline" | "cancel">();
      const raw = { type: "object", properties: { name: { type: "string" } } } as const;
      const named = await ex.ask("who", { message: "Who?", schema: raw });
      if (named.accepted) expectTypeOf(named.content.name).toEqualTypeOf<string | undefined>();
      // @ts-expect-error A default is what the schema gives out.
      void ex.ask("order", { message: "What?", schema, default: { size: "xl", count: 1 } });
    });
  });

  test("to each of several questions is its own", () => {
    newServer().tool("t", {}, async (_, ex) => {
      const { order, sure } = await ex.askAll({
        order: { message: "What?", schema },
        sure: { message: "Sure?" },
      });
      if (order.accepted) expectTypeOf(order.content).toEqualTypeOf<Filled>();
      if (sure.accepted) expectTypeOf(sure.content).toEqualTypeOf<Record<string, unknown>>();
      const price = await ex.once("price", () => ({ total: 7 }));
      expectTypeOf(price).toEqualTypeOf<{ total: number }>();
    });
  });
});

describe("the arguments of a tool", () => {
  test("are what a zod schema gives out", () => {
    const input = z.object({
      count: z.int(),
      tag: z.string().optional(),
      unit: z.string().default("kg"),
      kind: z.enum(["a", "b"]),
      label: z.string().nullable(),
      size: z.string().transform((words) => words.length),
    });
    newServer().tool("t", { input }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{
        count: number;
        tag?: string | undefined;
        unit: string;
        kind: "a" | "b";
        label: string | null;
        size: number;
      }>();
      // @ts-expect-error No such argument.
      return args.missing;
    });
  });

  test("are what an arktype schema gives out", () => {
    const input = type({ count: "number.integer", "tag?": "string", kind: "'a' | 'b'" });
    newServer().tool("t", { input }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ count: number; tag?: string; kind: "a" | "b" }>();
      // @ts-expect-error No such argument.
      return args.missing;
    });
  });

  test("are what a wrapped valibot schema gives out", () => {
    const input = toStandardJsonSchema(
      v.object({ count: v.pipe(v.number(), v.integer()), tag: v.optional(v.string(), "none") }),
    );
    newServer().tool("t", { input }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ count: number; tag: string }>();
      // @ts-expect-error No such argument.
      return args.missing;
    });
  });

  test("are what a raw JSON Schema says", () => {
    newServer().tool(
      "t",
      {
        input: {
          type: "object",
          properties: {
            text: { type: "string" },
            count: { type: "integer" },
            ratio: { type: "number" },
            flag: { type: "boolean" },
            nothing: { type: "null" },
            kind: { type: "string", enum: ["a", "b"] },
            version: { const: 2 },
            tags: { type: "array", items: { type: "string" } },
            list: { type: "array" },
            label: { type: ["string", "null"] },
            either: { anyOf: [{ type: "string" }, { type: "number" }] },
            shape: {
              oneOf: [
                { type: "object", properties: { side: { type: "number" } }, required: ["side"] },
                { type: "null" },
              ],
            },
            anything: true,
            free: { type: "object" },
          },
          required: ["text", "count", "kind", "version", "tags", "label", "shape"],
        },
      },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          readonly text: string;
          readonly count: number;
          readonly ratio?: number;
          readonly flag?: boolean;
          readonly nothing?: null;
          readonly kind: "a" | "b";
          readonly version: 2;
          readonly tags: string[];
          readonly list?: unknown[];
          readonly label: string | null;
          readonly either?: string | number;
          readonly shape: { readonly side: number } | null;
          readonly anything?: unknown;
          readonly free?: Record<string, unknown>;
        }>();
        // @ts-expect-error It may be null.
        args.label.length;
        // @ts-expect-error It may be left out.
        args.ratio.toFixed();
        // @ts-expect-error None of the values there are.
        return args.kind === "c";
      },
    );
  });

  test("keep what a raw JSON Schema says beside its alternatives", () => {
    newServer().tool(
      "t",
      {
        input: {
          type: "object",
          properties: { phone: { type: "string" }, email: { type: "string" } },
          anyOf: [{ required: ["phone"] }, { required: ["email"] }],
        },
      },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{ readonly phone?: string; readonly email?: string }>();
        return args.phone;
      },
    );
  });

  test("are unknown where the schema is no literal", () => {
    const input: JsonSchema = { type: "object" };
    newServer().tool("t", { input }, (args) => {
      expectTypeOf(args).toBeUnknown();
      return "";
    });
    expectTypeOf<FromJsonSchema<JsonSchema>>().toBeUnknown();
  });

  test("are an object of anything without a schema", () => {
    newServer().tool("t", {}, (args) => {
      expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>();
      return args;
    });
  });

  test("need a schema that can be written as JSON Schema", () => {
    const bare = v.object({ count: v.number() });
    // @ts-expect-error A valibot schema has no JSON Schema face of its own.
    expect(() => newServer().tool("t", { input: bare }, () => "")).toThrow(DeclarationError);
    // @ts-expect-error A name is no schema.
    expect(() => newServer().tool("t", { input: "string" }, () => "")).toThrow();
  });
});

describe("the result of a tool", () => {
  const output = z.object({ sum: z.int(), note: z.string().optional() });

  test("is what its output schema takes, or content", () => {
    const server = newServer();
    server.tool("value", { output }, () => ({ sum: 1 }));
    server.tool("later", { output }, async () => ({ sum: 1, note: "one" }));
    server.tool("content", { output }, (): Content => text("one").with({ structured: { sum: 1 } }));
    server.tool("raw", { output: { type: "string", enum: ["on", "off"] } }, () => "on" as const);
    server.tool("arktype", { output: type({ sum: "number" }) }, () => ({ sum: 1 }));
    // @ts-expect-error A member is missing.
    server.tool("missing", { output }, () => ({ note: "none" }));
    // @ts-expect-error A member has another type.
    server.tool("wrong", { output }, () => ({ sum: "1" }));
    // @ts-expect-error A promise of the wrong value.
    server.tool("wrong-later", { output }, async () => ({ sum: "1" }));
    // @ts-expect-error Nothing at all.
    server.tool("nothing", { output }, () => {});
    // @ts-expect-error None of the values there are.
    server.tool("raw-wrong", { output: { type: "string", enum: ["on", "off"] } }, () => "up");
    // @ts-expect-error A member has another type.
    server.tool("arktype-wrong", { output: type({ sum: "number" }) }, () => ({ sum: "1" }));
  });

  test("is what goes into a schema that transforms", () => {
    const stamp = z.object({
      at: z.codec(z.string(), z.int(), {
        decode: (words) => words.length,
        encode: (length) => "x".repeat(length),
      }),
    });
    newServer().tool("t", { output: stamp }, () => ({ at: "12" }));
    // @ts-expect-error This is what comes out.
    newServer().tool("t", { output: stamp }, () => ({ at: 12 }));
  });

  test("is anything without an output schema", () => {
    const server = newServer();
    server.tool("nothing", {}, () => {});
    server.tool("number", {}, () => 1);
    server.tool("mixed", {}, (args) => (Object.keys(args).length > 0 ? text("some") : "none"));
  });
});

describe("the variables of a template", () => {
  test("are read from the literal", () => {
    newServer().template(
      "file://{host}{/folders*}/{name:3}.txt{?page,size}{#part}",
      { complete: { host: ["a"], name: () => ["b"] } },
      (variables) => {
        expectTypeOf(variables).toEqualTypeOf<{
          readonly host: string;
          readonly folders: TemplateValue | undefined;
          readonly name: string;
          readonly page: string | undefined;
          readonly size: string | undefined;
          readonly part: string | undefined;
        }>();
        // @ts-expect-error No such variable.
        return variables.missing;
      },
    );
  });

  test("may be missing where a URI can do without them", () => {
    newServer().template("test://{first,second}/{+rest}{.format}{&more}", {}, (variables) => {
      expectTypeOf(variables).toEqualTypeOf<{
        readonly first: string;
        readonly second: string | undefined;
        readonly rest: string;
        readonly format: string | undefined;
        readonly more: string | undefined;
      }>();
      // @ts-expect-error It may be missing.
      return variables.second.length > 0 ? variables.first : "";
    });
  });

  test("are the only ones with suggestions", () => {
    const complete = { other: ["1"] };
    // @ts-expect-error No such variable.
    const declare = () => newServer().template("test://{id}", { complete }, ({ id }) => id);
    expect(declare).toThrow(DeclarationError);
  });

  test("may be any where the template is no literal", () => {
    const template: string = "test://{id}";
    newServer().template(template, {}, (variables) => {
      expectTypeOf(variables).toEqualTypeOf<Readonly<Record<string, TemplateValue | undefined>>>();
      return "";
    });
  });
});

describe("the arguments of a prompt", () => {
  test("are always there where they are required", () => {
    newServer().prompt(
      "p",
      {
        arguments: {
          topic: { required: true },
          tone: { description: "How it sounds." },
          length: { required: false, complete: ["short", "long"] },
        },
      },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          readonly topic: string;
          readonly tone: string | undefined;
          readonly length: string | undefined;
        }>();
        // @ts-expect-error It may be left out.
        args.tone.length;
        // @ts-expect-error No such argument.
        return args.missing;
      },
    );
  });

  test("have suggestions from functions whose parameters need no types", () => {
    newServer().prompt(
      "p",
      {
        arguments: {
          topic: { required: true, complete: (typed) => [typed.toUpperCase()] },
          tone: {
            complete: (typed, context) => {
              expectTypeOf(typed).toEqualTypeOf<string>();
              expectTypeOf(context.arguments).toEqualTypeOf<Readonly<Record<string, string>>>();
              return [];
            },
          },
        },
      },
      (args) => {
        expectTypeOf(args).toEqualTypeOf<{
          readonly topic: string;
          readonly tone: string | undefined;
        }>();
        return args.topic;
      },
    );
  });

  test("may be there where that is not known", () => {
    const required = Math.random() < 2;
    newServer().prompt("p", { arguments: { topic: { required } } }, (args) => {
      expectTypeOf(args).toEqualTypeOf<{ readonly topic: string | undefined }>();
      return args.topic ?? "";
    });
  });

  test("are none where none are declared", () => {
    newServer().prompt("p", {}, (args) => {
      // @ts-expect-error No such argument.
      return args.missing ?? "";
    });
  });
});

describe("what a middleware sees", () => {
  test("is told apart by the operation, and its result by the kind", () => {
    newServer().use(async (call, next) => {
      expectTypeOf(call.owner).toEqualTypeOf<string>();
      // @ts-expect-error Not every operation has a target.
      call.target;
      if (call.operation === "call-tool") {
        expectTypeOf(call.target).toEqualTypeOf<string>();
        expectTypeOf(call.arguments).toEqualTypeOf<Readonly<Record<string, unknown>>>();
      }
      if (call.operation === "get-prompt") {
        expectTypeOf(call.arguments).toEqualTypeOf<Readonly<Record<string, string>>>();
      }
      if (call.operation === "list") {
        expectTypeOf(call.list).toEqualTypeOf<"tools" | "resources" | "templates" | "prompts">();
      }
      const result = await next();
      if (result.kind === "tool") {
        expectTypeOf(result.isError).toEqualTypeOf<boolean | undefined>();
        expectTypeOf(result.structured).toEqualTypeOf<unknown>();
      }
      return result;
    });
    // @ts-expect-error It has to return a result.
    newServer().use(async (_, next) => void (await next()));
  });
});
