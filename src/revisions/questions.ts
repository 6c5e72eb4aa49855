/** Questions as requests on the wire, in what each revision can say of them. */
import type { FormField, Option } from "../core/form.ts";
import type { ContentBlock } from "../core/model.ts";
import type { FormQuestion, Question, SampleQuestion } from "../core/question.ts";
import { type JsonObject, pick } from "../util/json.ts";
import { type Shape, toBlock } from "./shape.ts";

export interface WireQuestion {
  readonly method: string;
  readonly params: JsonObject;
}

/** How much a form can say: 2025-06-18 knows neither titled nor multiple choices, nor most defaults. */
export type FormStyle = "plain" | "full";

/** How a question to visit a page is written; 2025-11-25 gives it an id of its own. */
export type UrlStyle = "with-id" | "without-id";

export interface QuestionStyle {
  readonly forms: FormStyle;
  readonly urls: UrlStyle;
}

export function toWireQuestion(
  question: Question,
  style: QuestionStyle,
  shape: Shape,
): WireQuestion {
  switch (question.kind) {
    case "form":
      return { method: "elicitation/create", params: toForm(question, style) };
    case "url": {
      const { message, url } = question;
      const id = style.urls === "with-id" ? { elicitationId: crypto.randomUUID() } : {};
      return { method: "elicitation/create", params: { mode: "url", message, url, ...id } };
    }
    case "sample":
      return { method: "sampling/createMessage", params: toSampling(question, shape) };
    case "roots":
      return { method: "roots/list", params: {} };
  }
}

function toForm({ message, fields, required }: FormQuestion, style: QuestionStyle): JsonObject {
  const properties = Object.entries(fields).map(([name, field]) => [
    name,
    style.forms === "full" ? toField(field) : toPlainField(field),
  ]);
  const requestedSchema = {
    type: "object",
    properties: Object.fromEntries(properties),
    ...(required.length === 0 ? {} : { required }),
  };
  return { ...(style.forms === "full" ? { mode: "form" } : {}), message, requestedSchema };
}

function toField(field: FormField): JsonObject {
  const about = describe(field, true);
  switch (field.type) {
    case "choice":
      return isTitled(field.options) && !field.named
        ? { type: "string", ...about, oneOf: field.options.map(toTitled) }
        : toNamed(field.options, about);
    case "choices": {
      const items = isTitled(field.options)
        ? { anyOf: field.options.map(toTitled) }
        : { type: "string", enum: field.options.map(({ value }) => value) };
      return { type: "array", ...about, ...field.limits, items };
    }
    case "boolean":
      return { type: "boolean", ...about };
    case "string":
    case "number":
    case "integer":
      return { type: field.type, ...about, ...field.limits };
  }
}

function toPlainField(field: FormField): JsonObject {
  const about = describe(field, field.type === "boolean");
  switch (field.type) {
    case "choice":
      return toNamed(field.options, about);
    case "choices": {
      // No list to choose from, so the user writes the values; the answer is split again.
      const values = field.options.map(({ value }) => value).join(", ");
      const description = `${field.description ?? ""} (any of ${values}; separated by commas)`;
      return { type: "string", ...about, description: description.trim() };
    }
    case "boolean":
      return { type: "boolean", ...about };
    case "string":
    case "number":
    case "integer":
      return { type: field.type, ...about, ...field.limits };
  }
}

/** An answer to a plain form as the full form would have been answered. */
export function fromPlainForm(question: Question, raw: unknown): unknown {
  if (question.kind !== "form" || typeof raw !== "object" || raw === null) return raw;
  const { content } = raw as { readonly content?: unknown };
  if (typeof content !== "object" || content === null) return raw;
  const entries = Object.entries(content).map(([name, value]) => {
    const splits = question.fields[name]?.type === "choices" && typeof value === "string";
    return [name, splits ? splitList(value) : value];
  });
  return { ...raw, content: Object.fromEntries(entries) };
}

function splitList(value: string): string[] {
  return value
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

function describe(field: FormField, withDefault: boolean): JsonObject {
  const { title, description, initial } = field;
  return pick({ title, description, default: withDefault ? initial : undefined }, [
    "title",
    "description",
    "default",
  ]);
}

/** Values with their titles beside them, where there are titles. */
function toNamed(options: readonly Option[], about: JsonObject): JsonObject {
  const names = isTitled(options)
    ? { enumNames: options.map(({ value, title }) => title ?? value) }
    : {};
  return { type: "string", ...about, enum: options.map(({ value }) => value), ...names };
}

function isTitled(options: readonly Option[]): boolean {
  return options.some(({ title }) => title !== undefined);
}

function toTitled({ value, title }: Option): JsonObject {
  return { const: value, title: title ?? value };
}

const samplingFields: readonly string[] = [
  "modelPreferences",
  "systemPrompt",
  "temperature",
  "maxTokens",
  "stopSequences",
  "metadata",
];

/** The kinds of content that a model takes; others are told in words. */
const samplingBlocks: readonly ContentBlock["type"][] = ["text", "image", "audio"];

function toSampling({ request }: SampleQuestion, shape: Shape): JsonObject {
  const kinds = Object.entries(shape.blocks).filter(([type]) =>
    samplingBlocks.includes(type as ContentBlock["type"]),
  );
  const narrowed: Shape = { ...shape, blocks: Object.fromEntries(kinds) };
  const messages = request.messages.map(({ role, content }) => ({
    role,
    content: toBlock(content, narrowed),
  }));
  return { messages, ...pick(request, samplingFields) };
}
