/** How the official clients answer what a server asks of them. */
import { isObject, type JsonObject } from "./schemas.ts";

/** What the clients declare that they can be asked. */
export const askable = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} } as const;

export const answered = {
  text: "Ada",
  model: "a model of the test",
  roots: [{ uri: "file:///work", name: "work" }],
} as const;

export function elicit(params: unknown): {
  action: "accept";
  content: Record<string, string | number | boolean | string[]>;
} {
  const schema = isObject(params) ? params["requestedSchema"] : undefined;
  const properties = isObject(schema) && isObject(schema["properties"]) ? schema["properties"] : {};
  const content = Object.entries(properties).map(([name, field]) => [
    name,
    isObject(field) ? fill(field) : answered.text,
  ]);
  return { action: "accept", content: Object.fromEntries(content) };
}

export function sample() {
  return {
    role: "assistant",
    model: answered.model,
    content: { type: "text", text: answered.text },
    stopReason: "endTurn",
  } as const;
}

export function listRoots() {
  return { roots: answered.roots.map((root) => ({ ...root })) };
}

/** What a user who changes nothing sends: the default, else the first choice, else some text. */
function fill(field: JsonObject): unknown {
  if (field["default"] !== undefined) return field["default"];
  const items = field["items"];
  if (field["type"] === "array") return [isObject(items) ? firstOf(items) : answered.text];
  if (field["type"] === "boolean") return true;
  if (field["type"] === "number" || field["type"] === "integer") return 1;
  return (
    firstOf(field) ?? (String(field["description"]).match(/any of (\w+)/)?.[1] || answered.text)
  );
}

function firstOf(field: JsonObject): unknown {
  const titled = field["oneOf"] ?? field["anyOf"];
  if (Array.isArray(titled) && isObject(titled[0])) return titled[0]["const"];
  return Array.isArray(field["enum"]) ? field["enum"][0] : undefined;
}
