/** What a handler may return besides a plain value: blocks of content. */
import { encodeBytes } from "../util/base64.ts";
import type { JsonObject } from "../util/json.ts";
import type {
  Annotations,
  ContentBlock,
  PromptMessage,
  ResourceContents,
  ResourceLinkBlock,
  Role,
} from "./model.ts";

/** One or more blocks of content, made by {@link text}, {@link image} and the others. */
export class Content {
  readonly blocks: readonly ContentBlock[];
  readonly isError: boolean;
  /** Set apart from `structured: undefined`: a result may be any JSON value, falsy ones too. */
  readonly hasStructured: boolean;
  readonly structured: unknown;
  readonly meta: JsonObject | undefined;

  constructor(blocks: readonly ContentBlock[], options: ContentOptions = {}) {
    this.blocks = blocks;
    this.isError = options.isError ?? false;
    this.hasStructured = options.structured !== undefined;
    this.structured = options.structured;
    this.meta = options.meta;
  }

  /** The same blocks with structured content, an error mark or `_meta` beside them. */
  with(options: ContentOptions): Content {
    return new Content(this.blocks, {
      isError: options.isError ?? this.isError,
      structured: options.structured === undefined ? this.structured : options.structured,
      meta: options.meta ?? this.meta,
    });
  }
}

export interface ContentOptions {
  /** The call failed, and the blocks tell the model why and what to mend. @default false */
  readonly isError?: boolean | undefined;
  /** The machine-readable result, when the blocks say it in other words. */
  readonly structured?: unknown;
  /** The result's `_meta`, from 2024-11-05 on. */
  readonly meta?: JsonObject | undefined;
}

export interface BlockOptions {
  readonly annotations?: Annotations | undefined;
  readonly meta?: JsonObject | undefined;
}

/** Bytes, or base64 as it is. */
export type Bytes = Uint8Array | string;

/** Words for the model or its user. */
export function text(words: string, options?: BlockOptions): Content {
  return one({ type: "text", text: words, ...extras(options) });
}

/** A picture, such as `image(png, "image/png")`. */
export function image(data: Bytes, mimeType: string, options?: BlockOptions): Content {
  return one({ type: "image", data: toBase64(data), mimeType, ...extras(options) });
}

/** Sound; a caller on 2024-11-05, which has none, is told of it in words. */
export function audio(data: Bytes, mimeType: string, options?: BlockOptions): Content {
  return one({ type: "audio", data: toBase64(data), mimeType, ...extras(options) });
}

/** A resource with its contents. */
export function resource(
  contents: { readonly uri: string; readonly mimeType?: string | undefined } & (
    | { readonly text: string }
    | { readonly blob: Bytes }
  ),
  options?: BlockOptions,
): Content {
  const { uri, mimeType } = contents;
  const base = mimeType === undefined ? { uri } : { uri, mimeType };
  const whole: ResourceContents =
    "text" in contents
      ? { ...base, text: contents.text }
      : { ...base, blob: toBase64(contents.blob) };
  return one({ type: "resource", resource: whole, ...extras(options) });
}

/** A resource by its URI; before 2025-06-18, which brought links, it is told in words. */
export function link(
  target: Omit<ResourceLinkBlock, "type" | "annotations" | "_meta">,
  options?: BlockOptions,
): Content {
  return one({ type: "resource_link", ...target, ...extras(options) });
}

/** Several contents as one, in order. */
export function mixed(...parts: readonly (Content | string)[]): Content {
  return new Content(parts.flatMap((part) => blocksOf(part)));
}

/** What the caller did wrong, or what went wrong, in words a model can act on. */
export function failed(words: string, meta?: JsonObject): Content {
  return new Content([{ type: "text", text: words }], { isError: true, meta });
}

/** A prompt's message from the user. */
export function user(content: Content | string): readonly PromptMessage[] {
  return say("user", content);
}

/** A prompt's message from the assistant. */
export function assistant(content: Content | string): readonly PromptMessage[] {
  return say("assistant", content);
}

function say(role: Role, content: Content | string): readonly PromptMessage[] {
  return blocksOf(content).map((block) => ({ role, content: block }));
}

export function blocksOf(content: Content | string): readonly ContentBlock[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content.blocks;
}

export function toBase64(data: Bytes): string {
  return typeof data === "string" ? data : encodeBytes(data);
}

function one(block: ContentBlock): Content {
  return new Content([block]);
}

function extras(options: BlockOptions | undefined): BlockExtras {
  if (options === undefined) return {};
  const found: { annotations?: Annotations; _meta?: JsonObject } = {};
  if (options.annotations !== undefined) found.annotations = options.annotations;
  if (options.meta !== undefined) found._meta = options.meta;
  return found;
}

interface BlockExtras {
  readonly annotations?: Annotations;
  readonly _meta?: JsonObject;
}
