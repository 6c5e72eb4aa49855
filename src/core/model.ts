/** What an author declares and a caller sees, in no revision's terms. */
import type { JsonObject } from "../util/json.ts";

export type Role = "user" | "assistant";

/** A picture for user interfaces; `src` is an https or data URI. Shown from 2025-11-25 on. */
export interface Icon {
  readonly src: string;
  readonly mimeType?: string | undefined;
  /** Such as `["48x48"]`, or `["any"]` for a scalable format. */
  readonly sizes?: readonly string[] | undefined;
  readonly theme?: "light" | "dark" | undefined;
}

/** Hints on how to use or show a resource or a piece of content. */
export interface Annotations {
  readonly audience?: readonly Role[] | undefined;
  /** From 0 (optional) to 1 (required). */
  readonly priority?: number | undefined;
  /** ISO 8601. */
  readonly lastModified?: string | undefined;
}

/** Hints on what a tool does. Callers must not trust them, so they are no access control. */
export interface ToolAnnotations {
  readonly title?: string | undefined;
  readonly readOnlyHint?: boolean | undefined;
  readonly destructiveHint?: boolean | undefined;
  readonly idempotentHint?: boolean | undefined;
  readonly openWorldHint?: boolean | undefined;
}

/** Who a client or a server says it is. */
export interface Implementation {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly websiteUrl?: string | undefined;
}

/** What a caller declares it can do, as it came; unknown keys are kept and ignored. */
export type ClientCapabilities = JsonObject;

interface BlockBase {
  readonly annotations?: Annotations | undefined;
  readonly _meta?: JsonObject | undefined;
}

export interface TextBlock extends BlockBase {
  readonly type: "text";
  readonly text: string;
}

export interface ImageBlock extends BlockBase {
  readonly type: "image";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

export interface AudioBlock extends BlockBase {
  readonly type: "audio";
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

export interface ResourceBlock extends BlockBase {
  readonly type: "resource";
  readonly resource: ResourceContents;
}

export interface ResourceLinkBlock extends BlockBase {
  readonly type: "resource_link";
  readonly uri: string;
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  readonly mimeType?: string | undefined;
  /** Bytes. */
  readonly size?: number | undefined;
  readonly icons?: readonly Icon[] | undefined;
}

export type ContentBlock = TextBlock | ImageBlock | AudioBlock | ResourceBlock | ResourceLinkBlock;

/** The contents of a resource: text, or bytes as base64. */
export type ResourceContents = {
  readonly uri: string;
  readonly mimeType?: string | undefined;
  readonly _meta?: JsonObject | undefined;
} & ({ readonly text: string } | { readonly blob: string });

export interface PromptMessage {
  readonly role: Role;
  readonly content: ContentBlock;
}

/**
 * How long a caller may keep an answer, and whether callers may share it
 * (server/utilities/caching, 2026-07-28; the revisions before it have no such hint).
 */
export interface CacheHints {
  /** Milliseconds; 0 means stale at once. */
  readonly ttlMs: number;
  /** `public` lets one caller's answer be given to another: only for what all may see. */
  readonly scope: "public" | "private";
}
