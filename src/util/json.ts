/** Plain checks on parsed JSON; schema libraries cost a hundred times as much here. */

export type JsonObject = { readonly [key: string]: unknown };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Reads a key chosen by the caller, so that `constructor` finds no inherited member. */
export function own(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

/** Copies the named fields that are present, in the order of the names. */
export function pick(source: object, fields: readonly string[]): Record<string, unknown> {
  const from = source as JsonObject;
  const picked: Record<string, unknown> = {};
  for (const field of fields) {
    const value = from[field];
    if (value !== undefined) picked[field] = value;
  }
  return picked;
}
