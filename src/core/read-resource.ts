/** Reading a resource: a declared URI first, else the first template that matches it. */
import { type Awaitable, after, isPromise } from "../util/awaitable.ts";
import { toAsciiUri } from "../util/uri.ts";
import { findLack } from "./access.ts";
import { shorten } from "./call-tool.ts";
import { toBase64 } from "./content.ts";
import type { ResourcePart, ResourceReturn } from "./declaration.ts";
import type { Run } from "./dispatch.ts";
import type { ResourceEntry, TemplateEntry } from "./entries.ts";
import { McpError } from "./errors.ts";
import type { CacheHints, ResourceContents } from "./model.ts";
import { type Failure, failure, type Outcome } from "./outcome.ts";

export function readResource(uri: string, run: Run): Awaitable<Outcome> {
  try {
    const outcome = read(uri, run);
    return isPromise(outcome) ? outcome.catch((cause) => resourceThrew(uri, cause)) : outcome;
  } catch (cause) {
    return resourceThrew(uri, cause);
  }
}

function read(uri: string, run: Run): Awaitable<Outcome> {
  const found = findResource(uri, run);
  if ("failure" in found) return found;
  if (found.list === "resources") {
    return after(found.read(uri, run.ex), (returned) => finish(found, uri, returned, run));
  }
  const { entry, variables } = found;
  return after(entry.read(variables, run.ex), (returned) => finish(entry, uri, returned, run));
}

interface Matched {
  readonly list: "templates";
  readonly entry: TemplateEntry;
  readonly variables: Parameters<TemplateEntry["read"]>[0];
}

/** What is to be read, for a caller that may see and read it. */
export function findResource(uri: string, run: Run): ResourceEntry | Matched | Failure {
  const { registry } = run.service;
  const declared = registry.resource(uri, run.view, run.access);
  if (declared !== undefined) {
    return findLack(`the resource ${declared.name}`, declared.restriction, run.access) ?? declared;
  }
  for (const entry of registry.templates(run.view, run.access)) {
    const variables = entry.template.match(uri);
    if (variables === undefined) continue;
    const lack = findLack(`the resource ${entry.name}`, entry.restriction, run.access);
    return lack ?? { list: "templates", entry, variables };
  }
  return notFound(uri);
}

function finish(
  entry: ResourceEntry | TemplateEntry,
  uri: string,
  returned: ResourceReturn,
  { service }: Run,
): Outcome {
  if (returned === undefined) return notFound(uri);
  const parts = Array.isArray(returned) ? returned : [returned];
  return {
    kind: "contents",
    contents: parts.map((part) => toContents(part, toAsciiUri(uri), entry.mimeType)),
    cache: toHints(entry, entry.cache ?? service.cache.reads),
  };
}

/** What some callers may not read is never shared between callers, whatever was declared. */
function toHints({ restriction }: ResourceEntry | TemplateEntry, hints: CacheHints): CacheHints {
  return restriction === undefined ? hints : { ...hints, scope: "private" };
}

function toContents(
  part: ResourcePart,
  uri: string,
  declaredType: string | undefined,
): ResourceContents {
  if (typeof part === "string") return { uri, mimeType: declaredType, text: part };
  if (part instanceof Uint8Array) return { uri, mimeType: declaredType, blob: toBase64(part) };
  const base = {
    uri: part.uri ?? uri,
    mimeType: part.mimeType ?? declaredType,
    _meta: part.meta,
  };
  if ("text" in part) return { ...base, text: part.text };
  return { ...base, blob: toBase64(part.blob) };
}

function notFound(uri: string, message = `Resource not found: ${shorten(uri)}`): Failure {
  return failure("resource-not-found", message, { uri });
}

/** What a throw in a resource, or on the way to it, is to the caller. */
export function resourceThrew(uri: string, cause: unknown): Outcome {
  if (!(cause instanceof McpError)) throw cause;
  switch (cause.code) {
    case "not-found":
      return failure("resource-not-found", cause.message, { uri, ...cause.data });
    case "invalid-params":
      return failure("invalid-params", cause.message, cause.data);
    case "failed":
      return failure("internal", cause.message, cause.data);
  }
}
