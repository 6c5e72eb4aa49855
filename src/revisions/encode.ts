/** From a value to the members of a result object, as JSON text: the skeleton all revisions share. */
import type { CompletionValue, ContentsValue, MessagesValue, ToolValue } from "../core/outcome.ts";
import type { Entry, ListName, Page, Registry } from "../core/registry.ts";
import type { JsonObject } from "../util/json.ts";
import {
  type Shape,
  toBlock,
  toContents,
  toPrompt,
  toResource,
  toTemplate,
  toTool,
} from "./shape.ts";

/** `"content":[…],"structuredContent":…,"isError":true` */
export function toolMembers(value: ToolValue, shape: Shape): string {
  const { structured } = value;
  const carried =
    structured !== undefined &&
    (shape.structured === "anything" || (shape.structured === "objects" && value.isObject));
  // The text carries the result for callers that read only text, and for those whose
  // revision has no other place for it (server/tools, Structured Content).
  const inText = structured !== undefined && (value.blocks.length === 0 || !carried);
  const error = value.isError ? ',"isError":true' : "";
  return `"content":[${blocks(value, shape, inText)}]${carried ? `,"structuredContent":${structured}` : ""}${error}`;
}

function blocks({ blocks, structured }: ToolValue, shape: Shape, inText: boolean): string {
  const own = blocks.map((block) => JSON.stringify(toBlock(block, shape)));
  if (inText) own.push(`{"type":"text","text":${JSON.stringify(structured)}}`);
  return own.join(",");
}

export function contentsMembers(value: ContentsValue, shape: Shape): string {
  return `"contents":${JSON.stringify(value.contents.map((part) => toContents(part, shape)))}`;
}

export function messagesMembers(value: MessagesValue, shape: Shape): string {
  const messages = value.messages.map(({ role, content }) => ({
    role,
    content: toBlock(content, shape),
  }));
  const described =
    value.description === undefined ? "" : `"description":${JSON.stringify(value.description)},`;
  return `${described}"messages":${JSON.stringify(messages)}`;
}

export function completionMembers({ values, total, hasMore }: CompletionValue): string {
  return `"completion":${JSON.stringify({ values, total, hasMore })}`;
}

const listMembers: Readonly<Record<ListName, string>> = {
  tools: "tools",
  resources: "resources",
  templates: "resourceTemplates",
  prompts: "prompts",
};

export function pageMembers(page: Page, shape: Shape): string {
  const entries = page.entries.map((entry) => projectEntry(entry, shape));
  const next =
    page.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(page.nextCursor)}`;
  return `"${listMembers[page.list]}":${JSON.stringify(entries)}${next}`;
}

/** The text of each page, made once and forgotten with the page. */
export class PageTexts {
  readonly #texts: WeakMap<Page, string> = new WeakMap();
  readonly #write: (page: Page) => string;

  constructor(write: (page: Page) => string) {
    this.#write = write;
  }

  of(page: Page): string {
    const kept = this.#texts.get(page);
    if (kept !== undefined) return kept;
    const text = this.#write(page);
    this.#texts.set(page, text);
    return text;
  }
}

function projectEntry(entry: Entry, shape: Shape): JsonObject {
  switch (entry.list) {
    case "tools":
      return toTool(entry, shape);
    case "resources":
      return toResource(entry, shape);
    case "templates":
      return toTemplate(entry, shape);
    case "prompts":
      return toPrompt(entry, shape);
  }
}

/**
 * What is declared decides what is announced; a revision without a name for it says nothing.
 *
 * @param tells - whether what a session keeps can be told: which changes its caller wants to
 * hear of, and from which level on it wants to hear log entries
 */
export function toCapabilities(registry: Registry, shape: Shape, tells: boolean): JsonObject {
  const changes = registry.frozen || !tells ? {} : { listChanged: true };
  // Handlers may log, and resources may change their contents, in any server.
  const all: Record<string, JsonObject> = tells ? { logging: {} } : {};
  if (registry.completes) all["completions"] = {};
  if (registry.has("prompts")) all["prompts"] = changes;
  if (registry.has("resources") || registry.has("templates")) {
    all["resources"] = tells ? { ...changes, subscribe: true } : {};
  }
  if (registry.has("tools")) all["tools"] = changes;
  return Object.fromEntries(
    shape.capabilities.flatMap((name) => {
      const capability = all[name];
      return capability === undefined ? [] : [[name, capability] as const];
    }),
  );
}
