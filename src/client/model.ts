/** What a server offers and answers, as its clients see it in any revision. */
import type {
  Annotations,
  CacheHints,
  ContentBlock,
  Icon,
  Implementation,
  PromptMessage,
  ResourceContents,
  ToolAnnotations,
} from "../core/model.ts";
import type { JsonObject } from "../util/json.ts";

interface Listed {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly _meta?: JsonObject | undefined;
}

/** A tool as the server lists it; what it says of itself is a stranger's word. */
export interface Tool extends Listed {
  readonly inputSchema: JsonObject;
  readonly outputSchema?: JsonObject | undefined;
  readonly annotations?: ToolAnnotations | undefined;
}

export interface ListedResource extends Listed {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
  readonly annotations?: Annotations | undefined;
}

export interface ListedTemplate extends Listed {
  readonly uriTemplate: string;
  readonly mimeType?: string | undefined;
  readonly annotations?: Annotations | undefined;
}

export interface ListedPrompt extends Listed {
  readonly arguments?:
    | readonly {
        readonly name: string;
        readonly title?: string | undefined;
        readonly description?: string | undefined;
        readonly required?: boolean | undefined;
      }[]
    | undefined;
}

/** The four listings, by the name that `client.list` takes. */
export interface Listings {
  readonly tools: Tool;
  readonly resources: ListedResource;
  readonly templates: ListedTemplate;
  readonly prompts: ListedPrompt;
}

/** What a tool came to. An error here is the tool's own, for the model to act on. */
export interface ToolResult {
  readonly content: readonly ContentBlock[];
  /** The structured result; undefined where there is none. */
  readonly structured: unknown;
  readonly isError: boolean;
  /** The text of all text blocks, a line each. */
  readonly text: string;
  readonly meta: JsonObject | undefined;
}

/** The contents of a resource: a resource may consist of several. */
export interface ReadContents {
  readonly contents: readonly ResourceContents[];
  /** How long they may be kept; undefined where the server does not say. */
  readonly cache: CacheHints | undefined;
}

export interface PromptResult {
  readonly description: string | undefined;
  readonly messages: readonly PromptMessage[];
}

export interface Completion {
  readonly values: readonly string[];
  /** How many there are in all, where the server tells. */
  readonly total: number | undefined;
  readonly hasMore: boolean;
}

/** Who the server is and what it can do, as it said when the connection was made. */
export interface ServerDescription {
  /** Undefined where the server does not say. */
  readonly info: Implementation | undefined;
  readonly instructions: string | undefined;
  readonly capabilities: JsonObject;
  /** The revision that is spoken. */
  readonly revision: string;
  /** Every version the server says it serves, where it says so. */
  readonly supported: readonly string[] | undefined;
}
