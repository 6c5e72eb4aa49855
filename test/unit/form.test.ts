import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { adapter2025_06_18, adapter2025_11_25, adapter2026_07_28, type JsonSchema } from "anyrev";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileForm } from "../../src/core/form.ts";
import { judge, type Question } from "../../src/core/question.ts";
import type { Schema } from "../../src/core/schema.ts";
import type { Revision } from "../support/schemas.ts";
import { checkServerMessage } from "../support/wire.ts";

const full = [adapter2025_11_25, adapter2026_07_28] as const;
const plain = [adapter2025_06_18] as const;

function questionOf(schema?: Schema): Question {
  return { kind: "form", message: "Fill this in.", ...compileForm(schema) };
}

/** A schema of one field. */
function fieldOf(field: JsonSchema): JsonSchema {
  return { type: "object", properties: { field }, required: ["field"] };
}

/** What a revision makes of one field. */
function written(adapter: (typeof full)[number], field: JsonSchema): unknown {
  const { method, params } = adapter.question(questionOf(fieldOf(field)));
  const message = { jsonrpc: "2.0", id: 1, method, params };
  if (adapter.revision !== "2026-07-28") {
    expect(checkServerMessage(adapter.revision as Revision, message)).toEqual([]);
  }
  const schema = params["requestedSchema"] as { properties: Record<string, unknown> };
  expect(schema).toMatchObject({ type: "object", required: ["field"] });
  return schema.properties["field"];
}

const about = { title: "A title", description: "What it is" };
const titles = [
  { const: "a", title: "First" },
  { const: "b", title: "Second" },
];

type Row = readonly [name: string, field: JsonSchema, fuller: object, plainer?: object];

/** Each field as an author writes it, as the fuller forms say it, and as the plain one does. */
const fields: readonly Row[] = [
  ["a string", { type: "string" }, { type: "string" }],
  [
    "a string with all that can be said of it",
    { type: "string", ...about, minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
    { type: "string", ...about, minLength: 1, maxLength: 9, format: "email", default: "a@b.c" },
    { type: "string", ...about, minLength: 1, maxLength: 9, format: "email" },
  ],
  [
    "a string of a format that no client knows",
    { type: "string", format: "ipv4" },
    { type: "string" },
  ],
  [
    "a string with a pattern, which is checked here",
    { type: "string", pattern: "^a" },
    { type: "string" },
  ],
  [
    "a number",
    { type: "number", ...about, minimum: 0.5, maximum: 2, default: 1 },
    { type: "number", ...about, minimum: 0.5, maximum: 2, default: 1 },
    { type: "number", ...about, minimum: 0.5, maximum: 2 },
  ],
  [
    "an integer",
    { type: "integer", minimum: -1, multipleOf: 2, default: 0 },
    { type: "integer", minimum: -1, default: 0 },
    { type: "integer", minimum: -1 },
  ],
  [
    "a boolean",
    { type: "boolean", ...about, default: false },
    { type: "boolean", ...about, default: false },
  ],
  [
    "a choice",
    { type: "string", ...about, enum: ["a", "b"], default: "b" },
    { type: "string", ...about, enum: ["a", "b"], default: "b" },
    { type: "string", ...about, enum: ["a", "b"] },
  ],
  [
    "a choice with titles",
    { type: "string", oneOf: titles },
    { type: "string", oneOf: titles },
    { type: "string", enum: ["a", "b"], enumNames: ["First", "Second"] },
  ],
  [
    "a choice of which one has a title",
    { type: "string", oneOf: [{ const: "a" }, { const: "b", title: "Second" }] },
    {
      type: "string",
      oneOf: [
        { const: "a", title: "a" },
        { const: "b", title: "Second" },
      ],
    },
    { type: "string", enum: ["a", "b"], enumNames: ["a", "Second"] },
  ],
  [
    "a choice with names beside it",
    { type: "string", enum: ["a", "b"], enumNames: ["First", "Second"] },
    { type: "string", enum: ["a", "b"], enumNames: ["First", "Second"] },
  ],
  [
    "several choices",
    {
      type: "array",
      ...about,
      items: { type: "string", enum: ["a", "b"] },
      minItems: 1,
      maxItems: 2,
      default: ["a"],
    },
    {
      type: "array",
      ...about,
      items: { type: "string", enum: ["a", "b"] },
      minItems: 1,
      maxItems: 2,
      default: ["a"],
    },
    {
      type: "string",
      title: about.title,
      description: "What it is (any of a, b; separated by commas)",
    },
  ],
  [
    "several choices with titles",
    { type: "array", items: { anyOf: titles } },
    { type: "array", items: { anyOf: titles } },
    { type: "string", description: "(any of a, b; separated by commas)" },
  ],
];

describe("A field of a form", () => {
  it.each(fields.map((row) => ({ name: row[0], row })))(
    "$name is written as each revision can say it",
    ({ row: [, field, fuller, plainer = fuller] }) => {
      for (const adapter of full) expect(written(adapter, field), adapter.revision).toEqual(fuller);
      for (const adapter of plain)
        expect(written(adapter, field), adapter.revision).toEqual(plainer);
    },
  );

  it.each<[string, JsonSchema]>([
    ["an object", { type: "object", properties: {} }],
    ["a list of anything", { type: "array" }],
    ["a list of strings", { type: "array", items: { type: "string" } }],
    [
      "a list of numbers to choose from",
      { type: "array", items: { type: "integer", enum: [1, 2] } },
    ],
    ["null", { type: "null" }],
    ["of no type", {}],
    ["of several types", { type: ["string", "null"] }],
  ])("cannot be %s, and the error names it", (_, field) => {
    expect(() => compileForm(fieldOf(field))).toThrow(TypeError);
    expect(() => compileForm(fieldOf(field))).toThrow(/"field"/);
  });

  it("is said to be needed, or is not", () => {
    const schema = {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
    } as const;
    for (const adapter of [...full, ...plain]) {
      const needed = (required: string[] | undefined) =>
        adapter.question(questionOf({ ...schema, ...(required && { required }) })).params[
          "requestedSchema"
        ];
      expect(needed(undefined)).not.toHaveProperty("required");
      expect(needed([])).not.toHaveProperty("required");
      expect(needed(["b"])).toHaveProperty("required", ["b"]);
    }
  });

  it("may have any name", () => {
    const properties = JSON.parse(
      '{"__proto__":{"type":"string"},"constructor":{"type":"boolean"}}',
    );
    const { params } = adapter2026_07_28.question(questionOf({ type: "object", properties }));
    expect(JSON.stringify(params)).toContain(
      '{"__proto__":{"type":"string"},"constructor":{"type":"boolean"}}',
    );
  });
});

describe("A form", () => {
  it("without fields asks for yes or no", () => {
    for (const adapter of [...full, ...plain]) {
      const { method, params } = adapter.question(questionOf());
      expect(method).toBe("elicitation/create");
      expect(params).toMatchObject({
        message: "Fill this in.",
        requestedSchema: { type: "object", properties: {} },
      });
      expect(params["mode"]).toBe(adapter === adapter2025_06_18 ? undefined : "form");
    }
  });

  it.each<[string, Schema]>([
    ["a string", { type: "string" }],
    ["a list", { type: "array", items: { type: "string" } }],
    ["an object that does not say what it holds", { type: "object" }],
  ])("is not %s", (_, schema) => {
    expect(() => compileForm(schema)).toThrow(/an object with properties/);
  });

  it("is read once from a schema that is asked with again", () => {
    const schema = fieldOf({ type: "string" });
    expect(compileForm(schema)).toBe(compileForm(schema));
  });

  it.each<[string, Schema]>([
    [
      "zod",
      z.object({
        name: z.string().min(1),
        kind: z.enum(["a", "b"]).default("a"),
        tags: z.array(z.enum(["x", "y"])).optional(),
      }),
    ],
    [
      "valibot",
      toStandardJsonSchema(
        v.object({
          name: v.pipe(v.string(), v.minLength(1)),
          kind: v.optional(v.picklist(["a", "b"]), "a"),
          tags: v.optional(v.array(v.picklist(["x", "y"]))),
        }),
      ),
    ],
  ])("may be written with %s", async (_, schema) => {
    const question = questionOf(schema);
    const { params } = adapter2025_11_25.question(question);
    expect(params["requestedSchema"]).toMatchObject({
      properties: {
        name: { type: "string", minLength: 1 },
        kind: { type: "string", enum: ["a", "b"], default: "a" },
        tags: { type: "array", items: { type: "string", enum: ["x", "y"] } },
      },
      required: ["name"],
    });
    expect(
      await judge(question, { action: "accept", content: { name: "n", tags: ["y"] } }),
    ).toMatchObject({
      accepted: true,
      content: { name: "n", kind: "a", tags: ["y"] },
    });
    expect(await judge(question, { action: "accept", content: { name: "" } })).toBeUndefined();
  });

  it("may be written with arktype", async () => {
    const question = questionOf(type({ name: "string", age: "number" }));
    const { params } = adapter2025_11_25.question(question);
    expect(params["requestedSchema"]).toMatchObject({
      properties: { name: { type: "string" }, age: { type: "number" } },
    });
    expect(
      await judge(question, { action: "accept", content: { name: "n", age: "1" } }),
    ).toBeUndefined();
  });
});

describe("An answer to a plain form", () => {
  const question = questionOf({
    type: "object",
    properties: {
      tags: { type: "array", items: { type: "string", enum: ["a", "b", "c"] } },
      text: { type: "string" },
    },
  });
  const answer = (content: unknown): unknown =>
    adapter2025_06_18.answer(question, { action: "accept", content });

  it.each([
    ["a", ["a"]],
    ["a,b", ["a", "b"]],
    [" a , c ,", ["a", "c"]],
    ["", []],
    [" , ", []],
  ])("%j is split into %j", (tags, expected) => {
    expect(answer({ tags, text: "a,b" })).toEqual({
      action: "accept",
      content: { tags: expected, text: "a,b" },
    });
  });

  it("is judged by what may be chosen", async () => {
    expect(await judge(question, answer({ tags: "a, c" }))).toMatchObject({
      content: { tags: ["a", "c"] },
    });
    expect(await judge(question, answer({ tags: "a, d" }))).toBeUndefined();
  });

  it.each([[{ tags: ["a"] }], [{ tags: 1 }], [{}], [null], ["a"], [undefined]])(
    "is left as it is where there is nothing to split: %j",
    (content) => {
      expect(answer(content)).toEqual({ action: "accept", content });
    },
  );

  it.each([[undefined], [null], ["yes"], [7], [{ action: "decline" }]])(
    "is left as it is where it is none: %j",
    (raw) => {
      expect(adapter2025_06_18.answer(question, raw)).toEqual(raw);
    },
  );

  it("is not split where the form could say it", () => {
    const raw = { action: "accept", content: { tags: "a,b" } };
    for (const adapter of full) expect(adapter.answer(question, raw)).toBe(raw);
  });
});
