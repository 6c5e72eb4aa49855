/** A schema as the lists of what judges which part of a value, with its references followed. */
import { isObject, type JsonObject } from "../util/json.ts";
import { DeclarationError } from "./errors.ts";
import type { PatternCost } from "./pattern-cost.ts";
import { guardPattern, type SafePattern } from "./pattern-guard.ts";
import { resolve, type SchemaNode, type SchemaNodes } from "./schema-nodes.ts";

/** One schema of those that a value is judged by. */
export class SchemaPlan {
  /** What it takes to look at any value at all, in units of about a microsecond. */
  readonly own: number;
  readonly pattern: SafePattern | undefined;
  readonly isUnique: boolean;
  /** Those that judge the same value. */
  again: readonly SchemaPlan[] = [];
  /** Those of which one judges the same value. */
  oneOf: readonly SchemaPlan[] = [];
  properties: ReadonlyMap<string, SchemaPlan> = new Map();
  patterned: readonly (SafePattern & { readonly plan: SchemaPlan })[] = [];
  otherProperties: readonly SchemaPlan[] = [];
  names: readonly SchemaPlan[] = [];
  prefix: readonly SchemaPlan[] = [];
  otherItems: readonly SchemaPlan[] = [];
  everyItem: readonly SchemaPlan[] = [];

  constructor(schema: JsonObject) {
    const { pattern, uniqueItems } = schema;
    this.own = ownCost(schema);
    this.pattern = typeof pattern === "string" ? planPattern(pattern) : undefined;
    this.isUnique = uniqueItems === true;
  }

  /** Whether what it spends grows with the size of a value and no faster, but for those within. */
  get isSteady(): boolean {
    const patterns = [...this.patterned, ...(this.pattern === undefined ? [] : [this.pattern])];
    return !this.isUnique && patterns.every(({ cost }) => isSteady(cost));
  }

  get within(): readonly SchemaPlan[] {
    return [
      ...this.again,
      ...this.oneOf,
      ...this.properties.values(),
      ...this.patterned.map(({ plan }) => plan),
      ...this.otherProperties,
      ...this.names,
      ...this.prefix,
      ...this.otherItems,
      ...this.everyItem,
    ];
  }
}

/** The plans of all schemas of one, its own first. */
export function planSchema(found: SchemaNodes): readonly SchemaPlan[] {
  const plans = new Map(found.nodes.map((node) => [node, new SchemaPlan(node.schema)]));
  for (const [node, plan] of plans) fill(plan, node, plans, found);
  return [...plans.values()];
}

function fill(
  plan: SchemaPlan,
  { schema, held }: SchemaNode,
  plans: ReadonlyMap<SchemaNode, SchemaPlan>,
  found: SchemaNodes,
): void {
  const planned = (node: SchemaNode | undefined) => {
    const known = node === undefined ? undefined : plans.get(node);
    return known === undefined ? [] : [known];
  };
  const named = (keyword: string) =>
    [...(held.get(keyword) ?? [])].flatMap(([name, node]) =>
      planned(node).map((inner) => [name, inner] as const),
    );
  const all = (...keywords: readonly string[]) =>
    keywords.flatMap((keyword) => named(keyword).map(([, inner]) => inner));
  const referred = ["$ref", "$recursiveRef"].flatMap((key) => planned(resolve(schema[key], found)));
  const isList = Array.isArray(schema["items"]);
  plan.again = [
    ...referred,
    ...all("not", "if", "allOf", "anyOf", "oneOf", "dependentSchemas", "dependencies"),
  ];
  plan.oneOf = all("then", "else");
  plan.properties = new Map(named("properties"));
  plan.patterned = named("patternProperties").map(([source, inner]) => {
    return { ...planPattern(source), plan: inner };
  });
  plan.otherProperties = all("additionalProperties", "unevaluatedProperties");
  plan.names = all("propertyNames");
  plan.prefix = [...all("prefixItems"), ...(isList ? all("items") : [])];
  plan.otherItems = [
    ...(isList ? [] : all("items")),
    ...all("additionalItems", "unevaluatedItems"),
  ];
  plan.everyItem = all("contains");
}

function planPattern(source: string): SafePattern {
  const pattern = guardPattern(source);
  if (typeof pattern === "string")
    throw new DeclarationError(`the schema is not usable: ${pattern}`);
  return pattern;
}

function isSteady(cost: PatternCost): boolean {
  return [16, 256, 4_096, 65_536].every((length) => cost(length) <= 3_000 + 100 * length);
}

/** What the validator goes through by itself: names of properties, and values to compare with. */
function ownCost(schema: JsonObject): number {
  const { properties, required, enum: values, const: value, pattern } = schema;
  const names = isObject(properties) ? Object.keys(properties).length : 0;
  const needed = Array.isArray(required) ? required.length : 0;
  const compared = JSON.stringify([values, value]).length;
  return 0.3 + 0.4 * names + 0.02 * needed + compared / 100 + (pattern === undefined ? 0 : 3);
}
