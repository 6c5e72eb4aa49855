import { describe, expect, it } from "vitest";
import { compileForm } from "../../src/core/form.ts";
import { judge, type Question } from "../../src/core/question.ts";

const form: Question = {
  kind: "form",
  message: "m",
  ...compileForm({
    type: "object",
    properties: { name: { type: "string" }, age: { type: "integer" } },
    required: ["name"],
  }),
};
const bare: Question = { kind: "form", message: "m", ...compileForm() };
const url: Question = { kind: "url", message: "m", url: "https://example.com/" };
const sample: Question = { kind: "sample", request: { messages: [], maxTokens: 1 } };
const roots: Question = { kind: "roots" };

const all: readonly Question[] = [form, bare, url, sample, roots];

describe("An answer", () => {
  it("is none that is no object, or says nothing", async () => {
    for (const question of all) {
      for (const raw of [undefined, null, true, 1, "accept", [], {}, [{ action: "accept" }]]) {
        expect(
          await judge(question, raw),
          `${question.kind} ${JSON.stringify(raw)}`,
        ).toBeUndefined();
      }
    }
  });

  it("tells accept, decline and cancel apart, and takes nothing else for one of them", async () => {
    for (const question of [form, url]) {
      for (const action of ["decline", "cancel"] as const) {
        const refused = { action, accepted: false, content: undefined, assumed: false };
        expect(await judge(question, { action })).toEqual(refused);
        // Whatever was filled in before is not given.
        expect(await judge(question, { action, content: { name: "n" } })).toEqual(refused);
      }
      for (const action of ["Accept", "yes", "", null, true, undefined, ["accept"]]) {
        expect(await judge(question, { action, content: { name: "n" } })).toBeUndefined();
      }
    }
  });
});

describe("An answer to a form", () => {
  it("holds what was filled in, once it fits", async () => {
    const content = { name: "n", age: 3 };
    expect(await judge(form, { action: "accept", content })).toEqual({
      action: "accept",
      accepted: true,
      content,
      assumed: false,
    });
  });

  it.each([
    [undefined],
    [null],
    [{}],
    [{ name: 1 }],
    [{ name: "n", age: "3" }],
    [{ name: "n", age: 0.5 }],
    ["n"],
    [[]],
  ])("is none with %j in it", async (content) => {
    expect(await judge(form, { action: "accept", content })).toBeUndefined();
  });

  it("without fields needs no content", async () => {
    for (const raw of [
      { action: "accept" },
      { action: "accept", content: {} },
      { action: "accept", content: null },
    ]) {
      expect(await judge(bare, raw)).toMatchObject({ accepted: true, content: {} });
    }
  });
});

describe("An answer to a page", () => {
  it("is an acceptance without content", async () => {
    const accepted = { action: "accept", accepted: true, content: undefined, assumed: false };
    expect(await judge(url, { action: "accept" })).toEqual(accepted);
    expect(await judge(url, { action: "accept", content: { secret: "x" } })).toEqual(accepted);
  });
});

describe("What a model wrote", () => {
  const whole = { role: "assistant", model: "m", content: { type: "text", text: "a" } };

  it("is a block or a list of them, with all their text", async () => {
    expect(await judge(sample, { ...whole, stopReason: "endTurn" })).toMatchObject({
      role: "assistant",
      text: "a",
      model: "m",
      stopReason: "endTurn",
      content: [{ type: "text", text: "a" }],
    });
    const image = { type: "image", data: "", mimeType: "image/png" };
    const content = [{ type: "text", text: "a" }, image, { type: "text", text: "b" }];
    expect(await judge(sample, { ...whole, content })).toMatchObject({ text: "ab", content });
    expect(await judge(sample, { ...whole, content: [] })).toMatchObject({ text: "", content: [] });
    expect(await judge(sample, { ...whole, content: image })).toMatchObject({
      text: "",
      content: [image],
    });
    expect(await judge(sample, { ...whole, stopReason: 7 })).toMatchObject({
      stopReason: undefined,
    });
  });

  it.each<[string, object]>([
    ["role", { role: "system" }],
    ["role at all", { role: undefined }],
    ["model", { model: 7 }],
    ["content", { content: undefined }],
    ["block", { content: "a" }],
    ["block in its list", { content: [{ type: "text", text: "a" }, null] }],
    ["type of block", { content: { text: "a" } }],
    ["text", { content: { type: "text", text: 7 } }],
  ])("is none without a proper %s", async (_, wrong) => {
    expect(await judge(sample, { ...whole, ...wrong })).toBeUndefined();
  });
});

describe("Roots", () => {
  it("are their URIs and names, and nothing else that came along", async () => {
    const raw = { roots: [{ uri: "file:///a", name: "A", extra: 1 }, { uri: "file:///b" }] };
    expect(await judge(roots, raw)).toEqual([
      { uri: "file:///a", name: "A" },
      { uri: "file:///b" },
    ]);
    expect(await judge(roots, { roots: [] })).toEqual([]);
  });

  it.each([
    [{ roots: {} }],
    [{ roots: [null] }],
    [{ roots: ["file:///a"] }],
    [{ roots: [{}] }],
    [{ roots: [{ uri: 1 }] }],
    [{ roots: [{ uri: "a:b", name: 1 }] }],
  ])("are none in %j", async (raw) => {
    expect(await judge(roots, raw)).toBeUndefined();
  });
});
