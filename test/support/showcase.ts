/** A server that uses every field there is, so that each revision shows what it can carry. */
import {
  audio,
  createServer,
  image,
  link,
  mixed,
  resource,
  type Server,
  type ServerOptions,
  text,
  user,
} from "anyrev";

export const icons = [
  { src: "https://example.com/a.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" },
] as const;
export const meta = { "example.com/note": 1 };
export const annotations = {
  audience: ["user"],
  priority: 0.5,
  lastModified: "2025-01-12T15:00:58Z",
} as const;
export const toolAnnotations = {
  title: "Old title",
  readOnlyHint: true,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const;

const common = { title: "Title", description: "Description.", icons, meta } as const;
const block = { annotations, meta } as const;

/** Plain values that a tool may return, by the name of the tool that returns each. */
export const values: Readonly<Record<string, unknown>> = {
  object: { a: 1 },
  array: [1, 2],
  number: 7,
  zero: 0,
  false: false,
  null: null,
};

export function createShowcase(more: Partial<ServerOptions> = {}): Server {
  const server = createServer({
    name: "showcase",
    version: "1.2.3",
    title: "Showcase",
    description: "Shows everything.",
    icons,
    websiteUrl: "https://example.com",
    instructions: "Look around.",
    cache: {
      lists: { ttlMs: 60_000, scope: "public" },
      reads: { ttlMs: 5_000, scope: "private" },
    },
    log: () => {},
    ...more,
  });
  declareTools(server);
  declareValues(server);
  declareContents(server);
  declareResources(server);
  declarePrompts(server);
  return server;
}

function declareTools(server: Server): void {
  server.tool(
    "everything",
    {
      ...common,
      annotations: toolAnnotations,
      input: {
        type: "object",
        properties: {
          region: { type: "string", "x-mcp-header": "Region" },
          deep: {
            type: "object",
            properties: { tier: { type: "integer", "x-mcp-header": "Tier" } },
          },
          anything: true,
          nothing: false,
        },
      },
      output: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
    },
    () => ({ ok: true }),
  );
  const output = { type: "array", items: { type: "integer" } } as const;
  server.tool("list", { output }, () => [1, 2, 3]);
  server.tool("scalar", { output: { type: "string" } }, () => "words");
  server.tool("newcomer", { since: "2025-06-18" }, () => "new");
}

function declareValues(server: Server): void {
  for (const [name, value] of Object.entries(values)) {
    server.tool(`value_${name}`, {}, () => value);
  }
  server.tool("empty_string", {}, () => "");
  server.tool("empty_string_declared", { output: { type: "string" } }, () => "");
  server.tool("nothing", {}, () => undefined);
  server.tool("said_and_structured", {}, () => text("In words.").with({ structured: { a: 1 } }));
  server.tool("said_and_listed", {}, () => text("In words.").with({ structured: [1] }));
  server.tool("failed_and_structured", {}, () =>
    text("Too hot.").with({ structured: { degrees: 99 }, isError: true }),
  );
  server.tool("with_meta", {}, () => text("Noted.").with({ meta }));
  server.tool("with_meta_of_nothing", {}, () => text("Noted.").with({ meta: { gone: undefined } }));
}

function declareContents(server: Server): void {
  server.tool("text", {}, () => text("words", block));
  server.tool("image", {}, () => image("aW1n", "image/png", block));
  server.tool("audio", {}, () => audio("c291bmQh", "audio/wav", block));
  server.tool("embedded_text", {}, () =>
    resource({ uri: "note://1", mimeType: "text/plain", text: "noted" }, block),
  );
  server.tool("embedded_blob", {}, () =>
    resource({ uri: "note://2", blob: new Uint8Array([1, 2, 3]) }, block),
  );
  server.tool("link", {}, () =>
    link({ uri: "note://1", name: "one", mimeType: "text/plain", size: 5, ...linked }, block),
  );
  server.tool("mixed", {}, () =>
    mixed("First.", link({ uri: "note://1", name: "one" }), audio("c291bmQh", "audio/wav")),
  );
}

const linked = { title: "One", description: "The first.", icons } as const;

function declareResources(server: Server): void {
  server.resource(
    "note://1",
    { ...common, name: "one", mimeType: "text/plain", annotations, size: 5 },
    () => ({ text: "noted", meta }),
  );
  server.resource(
    "note://bytes",
    { cache: { ttlMs: 9, scope: "public" } },
    () => new Uint8Array([1, 2, 3]),
  );
  server.resource("note://gone", {}, () => undefined);
  server.resource("note://new", { since: "2025-11-25" }, () => "new");
  server.template(
    "note://by-name/{name}",
    {
      ...common,
      name: "by name",
      mimeType: "text/plain",
      annotations,
      complete: { name: ["ann"] },
    },
    ({ name }) => `note of ${name}`,
  );
  server.template("newer://{id}", { since: "2026-07-28" }, ({ id }) => id);
}

function declarePrompts(server: Server): void {
  server.prompt(
    "greet",
    {
      ...common,
      arguments: {
        name: { title: "Name", description: "Whom.", required: true, complete: ["ann"] },
      },
    },
    ({ name }) => user(`Greet ${name}.`),
  );
  server.prompt("linked", {}, () => user(link({ uri: "note://1", name: "one", ...linked }, block)));
  server.prompt("new_prompt", { since: "2025-03-26" }, () => "new");
}
