/**
 * What of a declaration or of content a revision can carry, as data, and the one place
 * where what it cannot carry is left out or told in words.
 */

import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from "../core/entries.ts";
import type { ContentBlock, Implementation, ResourceContents } from "../core/model.ts";
import { annotation as paramHeaderAnnotation } from "../core/param-header.ts";
import type { JsonSchema } from "../core/schema.ts";
import { isObject, type JsonObject, pick } from "../util/json.ts";
import { withAnswerArguments } from "./answer-arguments.ts";

/** The fields that each thing has in a revision, in the order they are written. */
export interface Shape {
  readonly implementation: readonly string[];
  readonly capabilities: readonly string[];
  readonly tool: readonly string[];
  readonly resource: readonly string[];
  readonly template: readonly string[];
  readonly prompt: readonly string[];
  readonly argument: readonly string[];
  /** The params of a request to complete. */
  readonly completion: readonly string[];
  readonly annotations: readonly string[];
  readonly toolAnnotations: readonly string[];
  readonly contents: readonly string[];
  /** The kinds of content, each with its fields; a kind that is absent is told in words. */
  readonly blocks: Readonly<Partial<Record<ContentBlock["type"], readonly string[]>>>;
  /** Which structured results there are beside the text. */
  readonly structured: "none" | "objects" | "anything";
  /** Whether input schemas keep `x-mcp-header`. */
  readonly paramHeaders: "kept" | "stripped";
  /** What a report of progress says. */
  readonly progress: readonly string[];
  /** Whether tools that ask take answers among their arguments. */
  readonly answerArguments: "declared" | "none";
  /** Whether a property's schema may be `true` or `false`. */
  readonly booleanSchemas: "kept" | "spelled-out";
}

export function toImplementation(info: Implementation, shape: Shape): JsonObject {
  return pick(info, shape.implementation);
}

export function toTool(entry: ToolEntry, shape: Shape): JsonObject {
  const tool = pick(entry, shape.tool);
  const takesAnswers = entry.asks && shape.answerArguments === "declared";
  const input = toSchema(entry.inputSchema, shape);
  tool["inputSchema"] = takesAnswers ? withAnswerArguments(input) : input;
  if ("outputSchema" in tool) {
    if (hasOutputSchema(entry, shape)) {
      tool["outputSchema"] = toSchema(entry.outputSchema ?? {}, shape);
    } else delete tool["outputSchema"];
  }
  if ("annotations" in tool) {
    tool["annotations"] = pick(entry.annotations ?? {}, shape.toolAnnotations);
  }
  return tool;
}

/** Before 2026-07-28 a structured result is an object, so a schema of anything else is none. */
function hasOutputSchema(entry: ToolEntry, shape: Shape): boolean {
  return shape.structured === "anything" || entry.outputSchema?.["type"] === "object";
}

export function toResource(entry: ResourceEntry, shape: Shape): JsonObject {
  return withAnnotations(pick(entry, shape.resource), shape);
}

export function toTemplate(entry: TemplateEntry, shape: Shape): JsonObject {
  return withAnnotations(pick(entry, shape.template), shape);
}

export function toPrompt(entry: PromptEntry, shape: Shape): JsonObject {
  const prompt = pick(entry, shape.prompt);
  if (entry.arguments.length === 0) delete prompt["arguments"];
  else prompt["arguments"] = entry.arguments.map((argument) => pick(argument, shape.argument));
  return prompt;
}

export function toContents(contents: ResourceContents, shape: Shape): JsonObject {
  return pick(contents, shape.contents);
}

export function toBlock(block: ContentBlock, shape: Shape): JsonObject {
  const fields = shape.blocks[block.type];
  if (fields === undefined) return toBlock({ type: "text", text: inWords(block) }, shape);
  const projected = withAnnotations(pick(block, fields), shape);
  if (block.type === "resource") projected["resource"] = toContents(block.resource, shape);
  return projected;
}

function withAnnotations(projected: Record<string, unknown>, shape: Shape) {
  const annotations = projected["annotations"];
  if (isObject(annotations)) projected["annotations"] = pick(annotations, shape.annotations);
  return projected;
}

/** What a caller without this kind of content can still be told. */
function inWords(block: ContentBlock): string {
  switch (block.type) {
    case "audio":
      return `[audio, ${block.mimeType}, ${Math.floor((block.data.length * 3) / 4)} bytes: this protocol revision cannot carry it]`;
    case "resource_link": {
      const title = block.title ?? block.name;
      const about = block.description === undefined ? "" : ` (${block.description})`;
      return `${title}: ${block.uri}${about}`;
    }
    case "text":
      return block.text;
    case "image":
      return `[image, ${block.mimeType}]`;
    case "resource":
      return "text" in block.resource ? block.resource.text : `[resource ${block.resource.uri}]`;
  }
}

function toSchema(schema: JsonSchema, shape: Shape): JsonSchema {
  const kept = shape.paramHeaders === "kept" ? schema : stripAnnotation(schema);
  return shape.booleanSchemas === "kept" ? kept : spellOutBooleans(kept);
}

/** Copies only what changes, so that a schema without the annotation stays the same object. */
function stripAnnotation(schema: JsonSchema): JsonSchema {
  const properties = schema["properties"];
  if (!isObject(properties)) return schema;
  const stripped = Object.entries(properties).map(([name, child]) => {
    if (!isObject(child)) return [name, child] as const;
    const { [paramHeaderAnnotation]: _, ...rest } = stripAnnotation(child);
    return [
      name,
      Object.hasOwn(child, paramHeaderAnnotation) ? rest : stripAnnotation(child),
    ] as const;
  });
  return { ...schema, properties: Object.fromEntries(stripped) };
}

/** `true` and `false` as the objects that mean the same, where a property must be an object. */
function spellOutBooleans(schema: JsonSchema): JsonSchema {
  const properties = schema["properties"];
  if (!isObject(properties)) return schema;
  if (!Object.values(properties).some((child) => typeof child === "boolean")) return schema;
  const spelled = Object.entries(properties).map(([name, child]) => {
    if (typeof child !== "boolean") return [name, child] as const;
    return [name, child ? {} : { not: {} }] as const;
  });
  return { ...schema, properties: Object.fromEntries(spelled) };
}
