/** What a declaration compiles to. Projected by adapters, run by dispatch. */
import type { Awaitable } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import type { Restriction } from "./access.ts";
import type { Completer, PromptReturn, ResourceReturn } from "./declaration.ts";
import type { Exchange } from "./exchange.ts";
import type { Annotations, CacheHints, Icon, ToolAnnotations } from "./model.ts";
import type { ParamHeader } from "./param-header.ts";
import type { CompiledSchema, JsonSchema } from "./schema.ts";
import type { TemplateValue, UriTemplate } from "./uri-template.ts";

interface EntryBase {
  /** What identifies it in its list: a name, a URI or a template. */
  readonly key: string;
  readonly since: string | undefined;
  /** Undefined where everybody may see and use it. */
  readonly restriction: Restriction | undefined;
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly icons: readonly Icon[] | undefined;
  readonly _meta: JsonObject | undefined;
}

export interface ToolEntry extends EntryBase {
  readonly list: "tools";
  readonly inputSchema: JsonSchema;
  readonly outputSchema: JsonSchema | undefined;
  readonly annotations: ToolAnnotations | undefined;
  readonly input: CompiledSchema | undefined;
  readonly output: CompiledSchema | undefined;
  readonly paramHeaders: readonly ParamHeader[];
  readonly asks: boolean;
  readonly run: (args: never, ex: Exchange) => Awaitable<unknown>;
}

interface ReadableEntry extends EntryBase {
  readonly mimeType: string | undefined;
  readonly annotations: Annotations | undefined;
  readonly cache: CacheHints | undefined;
}

export interface ResourceEntry extends ReadableEntry {
  readonly list: "resources";
  readonly uri: string;
  readonly size: number | undefined;
  readonly read: (uri: string, ex: Exchange) => Awaitable<ResourceReturn>;
}

export interface TemplateEntry extends ReadableEntry {
  readonly list: "templates";
  readonly uriTemplate: string;
  readonly template: UriTemplate;
  readonly completers: ReadonlyMap<string, Completer>;
  readonly read: (
    variables: Readonly<Record<string, TemplateValue | undefined>>,
    ex: Exchange,
  ) => Awaitable<ResourceReturn>;
}

export interface PromptEntry extends EntryBase {
  readonly list: "prompts";
  readonly arguments: readonly PromptArgumentEntry[];
  readonly completers: ReadonlyMap<string, Completer>;
  readonly get: (args: never, ex: Exchange) => Awaitable<PromptReturn>;
}

export interface PromptArgumentEntry {
  readonly name: string;
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly required: boolean | undefined;
}
