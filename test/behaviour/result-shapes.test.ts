/** What a result of each kind becomes in each revision, and how what is missing is told. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Line, matrix, openLine, Peer } from "../support/peer.ts";
import { annotations, createShowcase, icons, meta, values } from "../support/showcase.ts";
import type { JsonObject } from "../support/wire.ts";

const identity = {
  name: "showcase",
  version: "1.2.3",
  title: "Showcase",
  description: "Shows everything.",
  icons,
  websiteUrl: "https://example.com",
};

describe.each(matrix)("a result of %s over %s", (revision, bridge) => {
  let line: Line;
  let peer: Peer;
  const modern = revision === "2026-07-28";
  const titled = revision >= "2025-06-18";
  const since = (has: boolean, fields: JsonObject) => (has ? fields : {});
  const frame = modern
    ? { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": identity } }
    : {};
  const extras = titled ? { annotations, _meta: meta } : { annotations: olderAnnotations() };

  beforeAll(async () => {
    line = await openLine(bridge, createShowcase());
    peer = await Peer.open(line, revision);
  });
  afterAll(() => line.close());

  const call = (name: string, headers?: Record<string, string>) =>
    peer.result("tools/call", { name }, headers);
  const content = async (name: string) => (await call(name))["content"];
  const text = (words: string) => ({ type: "text", text: words });

  it.each(Object.entries(values))(
    "carries a plain value (%s) as data and as text",
    async (name, value) => {
      const isObject = name === "object";
      expect(await call(`value_${name}`)).toEqual({
        ...frame,
        content: [text(JSON.stringify(value))],
        ...since(modern || (titled && isObject), { structuredContent: value }),
      });
    },
  );

  it("carries a string as words, and as data where a schema declares it to be data", async () => {
    expect(await call("empty_string")).toEqual({ ...frame, content: [text("")] });
    expect(await call("empty_string_declared")).toEqual({
      ...frame,
      content: [text('""')],
      ...since(modern, { structuredContent: "" }),
    });
  });

  it("carries nothing at all as a result without content", async () => {
    expect(await call("nothing")).toEqual({ ...frame, content: [] });
  });

  it("keeps data beside the author's words, as text where it has no other place", async () => {
    expect(await call("said_and_structured")).toEqual({
      ...frame,
      content: titled ? [text("In words.")] : [text("In words."), text('{"a":1}')],
      ...since(titled, { structuredContent: { a: 1 } }),
    });
    expect(await call("said_and_listed")).toEqual({
      ...frame,
      content: modern ? [text("In words.")] : [text("In words."), text("[1]")],
      ...since(modern, { structuredContent: [1] }),
    });
  });

  it("keeps the error mark and the data beside it", async () => {
    const { content: said, structuredContent, isError } = await call("failed_and_structured");
    expect(isError).toBe(true);
    expect(structuredContent).toEqual(titled ? { degrees: 99 } : undefined);
    expect(said).toEqual(titled ? [text("Too hot.")] : [text("Too hot."), text('{"degrees":99}')]);
  });

  it("carries the author's _meta beside its own", async () => {
    expect(await call("with_meta")).toEqual({
      ...frame,
      content: [text("Noted.")],
      _meta: { ...meta, ...frame._meta },
    });
  });

  it("is well-formed when the author's _meta holds nothing that JSON has", async () => {
    const { _meta } = await call("with_meta_of_nothing");
    expect(_meta).toEqual(modern ? frame._meta : {});
  });

  it("carries text and images with the annotations that the revision has", async () => {
    expect(await content("text")).toEqual([{ ...text("words"), ...extras }]);
    expect(await content("image")).toEqual([
      { type: "image", data: "aW1n", mimeType: "image/png", ...extras },
    ]);
  });

  it("carries audio, or tells of it in words where the revision has none", async () => {
    const sound = { type: "audio", data: "c291bmQh", mimeType: "audio/wav", ...extras };
    const [found] = asList(await content("audio"));
    if (revision >= "2025-03-26") expect(found).toEqual(sound);
    else {
      const words = "[audio, audio/wav, 6 bytes: this protocol revision cannot carry it]";
      expect(found).toMatchObject(text(words));
    }
  });

  it("carries embedded text and bytes", async () => {
    expect(await content("embedded_text")).toEqual([
      {
        type: "resource",
        resource: { uri: "note://1", mimeType: "text/plain", text: "noted" },
        ...extras,
      },
    ]);
    expect(await content("embedded_blob")).toEqual([
      { type: "resource", resource: { uri: "note://2", blob: "AQID" }, ...extras },
    ]);
  });

  const linked = {
    type: "resource_link",
    uri: "note://1",
    name: "one",
    title: "One",
    description: "The first.",
    ...since(revision >= "2025-11-25", { icons }),
    ...extras,
  };

  it("carries a link, or tells of it in words where the revision has none", async () => {
    const [found] = asList(await content("link"));
    if (titled) expect(found).toEqual({ ...linked, mimeType: "text/plain", size: 5 });
    else expect(found).toMatchObject(text("One: note://1 (The first.)"));
  });

  it("keeps the order of mixed content, whatever has to be told in words", async () => {
    const kinds = asList(await content("mixed")).map((block) => block["type"]);
    expect(kinds).toEqual([
      "text",
      titled ? "resource_link" : "text",
      revision >= "2025-03-26" ? "audio" : "text",
    ]);
  });

  it("carries content in a prompt's messages alike", async () => {
    const greeting = await peer.result("prompts/get", {
      name: "greet",
      arguments: { name: "Ann" },
    });
    expect(greeting).toEqual({
      ...frame,
      description: "Description.",
      messages: [{ role: "user", content: text("Greet Ann.") }],
    });
    const { messages } = await peer.result("prompts/get", { name: "linked" });
    const [message] = asList(messages);
    if (titled) expect(message).toEqual({ role: "user", content: linked });
    else expect(message?.["content"]).toMatchObject(text("One: note://1 (The first.)"));
  });

  it("carries the contents of a resource, with cache hints on 2026-07-28 only", async () => {
    const read = (uri: string) => peer.result("resources/read", { uri });
    const hints = (ttlMs: number, cacheScope: string) => since(modern, { ttlMs, cacheScope });
    expect(await read("note://1")).toEqual({
      ...frame,
      contents: [
        {
          uri: "note://1",
          mimeType: "text/plain",
          text: "noted",
          ...since(titled, { _meta: meta }),
        },
      ],
      ...hints(5000, "private"),
    });
    expect(await read("note://bytes")).toEqual({
      ...frame,
      contents: [{ uri: "note://bytes", blob: "AQID" }],
      ...hints(9, "public"),
    });
    expect(await read("note://by-name/ann")).toEqual({
      ...frame,
      contents: [{ uri: "note://by-name/ann", mimeType: "text/plain", text: "note of ann" }],
      ...hints(5000, "private"),
    });
  });

  it("completes the arguments of prompts and templates", async () => {
    for (const ref of [
      { type: "ref/prompt", name: "greet" },
      { type: "ref/resource", uri: "note://by-name/{name}" },
    ]) {
      const argument = { name: "name", value: "A" };
      expect(await peer.result("completion/complete", { ref, argument })).toEqual({
        ...frame,
        completion: { values: ["ann"], total: 1, hasMore: false },
      });
    }
  });

  it("is empty for a ping, which 2026-07-28 has no more", async () => {
    if (modern) expect(await peer.error("ping")).toMatchObject({ code: -32601, status: 404 });
    else expect(await peer.result("ping")).toEqual({});
  });

  it("is the same over a mirrored argument, which 2026-07-28 alone compares", async () => {
    const params = { name: "everything", arguments: { region: "eu", deep: { tier: 7 } } };
    const mirrored = { "mcp-param-region": "eu", "mcp-param-tier": "7.0" };
    const result = await peer.result("tools/call", params, mirrored);
    expect(result["content"]).toEqual([text('{"ok":true}')]);
    const { message, status } = await peer.ask("tools/call", params, {
      ...mirrored,
      "mcp-param-tier": "8",
    });
    if (modern) expect([status, message["error"]]).toMatchObject([400, { code: -32020 }]);
    else expect(message["result"]).toEqual(result);
  });
});

function olderAnnotations(): JsonObject {
  const { audience, priority } = annotations;
  return { audience, priority };
}

function asList(value: unknown): JsonObject[] {
  if (!Array.isArray(value)) throw new Error(`is no list: ${JSON.stringify(value)}`);
  return value;
}
