/** What each revision can say of the fields of a form, and what its answers become. */
import { createServer, type Schema } from "anyrev";
import { expect, it } from "vitest";
import { z } from "zod";
import { Conversant } from "../support/conversant.ts";
import { columns, fieldsOf } from "../support/conversing.ts";
import { isObject, type JsonObject } from "../support/wire.ts";
import { group } from "./group.ts";

const titled = [
  { const: "s", title: "Small" },
  { const: "l", title: "Large" },
] as const;

const everyField = {
  type: "object",
  properties: {
    mail: {
      type: "string",
      title: "Mail",
      description: "Yours.",
      format: "email",
      default: "a@b.c",
    },
    code: { type: "string", minLength: 2, maxLength: 4, format: "unheard-of" },
    age: { type: "integer", minimum: 0, maximum: 150, default: 30 },
    share: { type: "number", default: 0.5 },
    agreed: { type: "boolean", default: true },
    color: { type: "string", enum: ["red", "blue"], default: "red" },
    size: { type: "string", oneOf: titled },
    old: { type: "string", enum: ["s", "l"], enumNames: ["Small", "Large"] },
    colors: {
      type: "array",
      description: "Any.",
      items: { type: "string", enum: ["red", "blue"] },
      minItems: 1,
    },
    sizes: { type: "array", items: { anyOf: titled } },
  },
  required: ["mail", "colors"],
} as const;

const named = { enum: ["s", "l"], enumNames: ["Small", "Large"] };

/** From 2025-11-25 on a form says all; the older two tell a model, which reads any schema. */
const full: JsonObject = {
  mail: { type: "string", title: "Mail", description: "Yours.", format: "email", default: "a@b.c" },
  code: { type: "string", minLength: 2, maxLength: 4 },
  age: { type: "integer", minimum: 0, maximum: 150, default: 30 },
  share: { type: "number", default: 0.5 },
  agreed: { type: "boolean", default: true },
  color: { type: "string", enum: ["red", "blue"], default: "red" },
  size: { type: "string", oneOf: titled },
  old: { type: "string", ...named },
  colors: {
    type: "array",
    description: "Any.",
    items: { type: "string", enum: ["red", "blue"] },
    minItems: 1,
  },
  sizes: { type: "array", items: { anyOf: titled } },
};

/** 2025-06-18 has defaults of booleans alone, titles beside their values, and no lists. */
const plain: JsonObject = {
  mail: { type: "string", title: "Mail", description: "Yours.", format: "email" },
  code: { type: "string", minLength: 2, maxLength: 4 },
  age: { type: "integer", minimum: 0, maximum: 150 },
  share: { type: "number" },
  agreed: { type: "boolean", default: true },
  color: { type: "string", enum: ["red", "blue"] },
  size: { type: "string", ...named },
  old: { type: "string", ...named },
  colors: { type: "string", description: "Any. (any of red, blue; separated by commas)" },
  sizes: { type: "string", description: "(any of s, l; separated by commas)" },
};

export const forms = group("a form", columns, (revision, wire) => {
  const isPlain = revision === "2025-06-18";

  /** Asks with a schema and answers with `content`. */
  async function fill(schema: Schema, content: JsonObject) {
    const server = createServer({ name: "asking", version: "1", log: () => {} });
    server.tool("ask", { asks: true }, async (_, ex) =>
      JSON.stringify(await ex.ask("form", { message: "Fill in.", schema })),
    );
    const answer = () => ({ action: "accept", content });
    await using peer = await Conversant.open(wire, revision, server, { answer });
    const said = await peer.call("ask");
    const [question] = peer.questions;
    if (question === undefined) throw new Error("nothing was asked");
    return { said, question };
  }

  const lists = isPlain
    ? { colors: "blue, red", sizes: " l " }
    : { colors: ["blue", "red"], sizes: ["l"] };
  const content = { mail: "ada@example.com", agreed: false, size: "l", old: "s", ...lists };

  it("says of its fields what the revision has words for", async () => {
    const { question } = await fill(everyField, content);
    expect(fieldsOf(question)).toEqual(isPlain ? plain : full);
    const schema = question.params["requestedSchema"];
    expect(isObject(schema) && schema["required"]).toEqual(["mail", "colors"]);
  });

  it("gives its handler the same in every revision, lists as lists", async () => {
    const { said } = await fill(everyField, content);
    const colors = ["blue", "red"];
    expect(said).toMatchObject({ action: "accept", content: { ...content, colors, sizes: ["l"] } });
  });

  it("may be declared by a schema library, which then reads the answer", async () => {
    const schema = z.object({
      day: z.iso.date().transform((text) => text.replaceAll("-", "/")),
      color: z.enum(["red", "blue"]).default("red"),
      colors: z.array(z.enum(["red", "blue"])),
    });
    const { said, question } = await fill(schema, {
      day: "2026-01-31",
      colors: isPlain ? "red" : ["red"],
    });
    expect(fieldsOf(question)).toMatchObject({ day: { type: "string", format: "date" } });
    expect(said).toMatchObject({
      content: { day: "2026/01/31", color: "red", colors: ["red"] },
    });
  });

  it.each([
    ["is no object", { type: "string" }],
    ["is nested", { type: "object", properties: { a: { type: "object" } } }],
    ["has a list of anything", { type: "object", properties: { a: { type: "array" } } }],
    [
      "has a field of two types",
      { type: "object", properties: { a: { type: ["string", "null"] } } },
    ],
  ] as const)(
    "whose schema %s fails for its author, who reads why in the log",
    async (_, schema) => {
      const causes: unknown[] = [];
      const server = createServer({
        name: "asking",
        version: "1",
        log: ({ cause }) => causes.push(cause),
      });
      server.tool("ask", { asks: true }, async (_args, ex) => {
        await ex.ask("form", { message: "Fill in.", schema: schema as Schema });
      });
      await using peer = await Conversant.open(wire, revision, server);
      const { message } = await peer.ask("tools/call", { name: "ask" });
      expect(message["result"]).toMatchObject({ isError: true });
      expect(peer.questions).toEqual([]);
      expect(String(causes)).toContain("a question must be");
    },
  );
});
