import {
  assistant,
  audio,
  Content,
  failed,
  image,
  link,
  mixed,
  resource,
  text,
  user,
} from "anyrev";
import { describe, expect, it } from "vitest";

const bytes = new Uint8Array([0, 1, 254, 255]);
const encoded = "AAH+/w==";
const annotations = { audience: ["assistant"], priority: 1 } as const;
const meta = { "example.com/a": 1 };

describe("a block", () => {
  it("of text holds the words as they are", () => {
    expect(text("").blocks).toEqual([{ type: "text", text: "" }]);
    expect(text("a\u2028b").blocks).toEqual([{ type: "text", text: "a\u2028b" }]);
  });

  it("of bytes holds them as base64, and base64 as it is", () => {
    for (const data of [bytes, encoded]) {
      expect(image(data, "image/png").blocks).toEqual([
        { type: "image", data: encoded, mimeType: "image/png" },
      ]);
      expect(audio(data, "audio/wav").blocks).toEqual([
        { type: "audio", data: encoded, mimeType: "audio/wav" },
      ]);
      expect(resource({ uri: "a:b", blob: data }).blocks).toEqual([
        { type: "resource", resource: { uri: "a:b", blob: encoded } },
      ]);
    }
  });

  it("of many bytes is encoded whole", () => {
    const many = Uint8Array.from({ length: 100_001 }, (_, index) => index % 256);
    const [block] = image(many, "image/png").blocks;
    expect(block).toMatchObject({ data: Buffer.from(many).toString("base64") });
  });

  it("takes the part of a buffer that it was given, not the whole of it", () => {
    const part = new Uint8Array([9, 9, 0, 1, 254, 255, 9]).subarray(2, 6);
    expect(image(part, "image/png").blocks).toMatchObject([{ data: encoded }]);
  });

  it("of a resource keeps its type where it has one", () => {
    expect(resource({ uri: "a:b", mimeType: "text/plain", text: "" }).blocks).toEqual([
      { type: "resource", resource: { uri: "a:b", mimeType: "text/plain", text: "" } },
    ]);
  });

  it.each([
    ["text", text("a", { annotations, meta })],
    ["image", image("", "image/png", { annotations, meta })],
    ["audio", audio("", "audio/wav", { annotations, meta })],
    ["resource", resource({ uri: "a:b", text: "" }, { annotations, meta })],
    ["link", link({ uri: "a:b", name: "b" }, { annotations, meta })],
  ])("of kind %s carries annotations and _meta", (_, content) => {
    expect(content.blocks).toMatchObject([{ annotations, _meta: meta }]);
  });

  it("has no members for options that were not given", () => {
    expect(Object.keys(text("a", {}).blocks[0] ?? {})).toEqual(["type", "text"]);
    const undefinedOptions = { annotations: undefined, meta: undefined };
    expect(Object.keys(text("a", undefinedOptions).blocks[0] ?? {})).toEqual(["type", "text"]);
  });
});

describe("content", () => {
  it("mixes strings and other content in order, and keeps their blocks", () => {
    const content = mixed("a", mixed("b", image("", "image/png")), "c");
    expect(content.blocks.map((block) => block.type)).toEqual(["text", "text", "image", "text"]);
    expect(mixed().blocks).toEqual([]);
  });

  it("of a failure is marked as one", () => {
    expect(failed("no", meta)).toMatchObject({ isError: true, meta, blocks: [{ text: "no" }] });
    expect(text("yes").isError).toBe(false);
  });

  it.each([null, false, 0, "", [], {}])("takes %j for a structured result", (structured) => {
    const content = text("said").with({ structured });
    expect(content.hasStructured).toBe(true);
    expect(content.structured).toEqual(structured);
  });

  it("is not changed by what is set beside it", () => {
    const plain = text("a");
    const changed = plain.with({ structured: 1, isError: true, meta });
    expect(plain).toMatchObject({ hasStructured: false, isError: false, meta: undefined });
    expect(changed).toBeInstanceOf(Content);
    expect(changed.blocks).toBe(plain.blocks);
  });

  it("keeps what was set before when something else is set", () => {
    const content = text("a").with({ structured: null }).with({ isError: true }).with({ meta });
    expect(content).toMatchObject({ structured: null, hasStructured: true, isError: true, meta });
    expect(content.with({ isError: false }).isError).toBe(false);
  });

  it("becomes messages of a prompt, one for each block", () => {
    expect(user("hi")).toEqual([{ role: "user", content: { type: "text", text: "hi" } }]);
    expect(assistant(mixed("a", "b")).map(({ role }) => role)).toEqual(["assistant", "assistant"]);
  });
});
