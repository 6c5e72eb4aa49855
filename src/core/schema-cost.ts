/**
 * What the validator spends on a value, told before it begins. A schema that is safe by itself can
 * take hours on a value made for it: a pattern on a long string, a list of many that must all
 * differ, a schema that refers to itself twice for one place.
 */
import { isObject } from "../util/json.ts";
import type { SafePattern } from "./pattern-guard.ts";
import type { SchemaNodes } from "./schema-nodes.ts";
import { planSchema, type SchemaPlan } from "./schema-plan.ts";

/** In units of about a microsecond: about a second. */
const budget = 1_000_000;

/** What makes a value too costly to judge, or undefined where nothing does. */
export type FindExcess = (value: unknown) => string | undefined;

/** For a schema that the guard has let pass; what it takes is worked out for the first value. */
export function findExcessOf(found: SchemaNodes): FindExcess {
  let find: FindExcess | undefined;
  return (value) => {
    find ??= plan(found);
    return find(value);
  };
}

function plan(found: SchemaNodes): FindExcess {
  const plans = planSchema(found);
  const root = plans[0];
  if (root === undefined) return () => undefined;
  const isSteady = plans.every((each) => each.isSteady);
  const each = isSteady ? unfold(root, new Map()) : Number.POSITIVE_INFINITY;
  return (value) => {
    // Hardly any value is so large that it could be too much for a plain schema.
    if (isSteady && each * countParts(value, budget / each) <= budget) return undefined;
    return new Estimate().findExcess(root, value);
  };
}

/** What one part of a value can take if it is judged by all; without end if it holds itself. */
function unfold(plan: SchemaPlan, known: Map<SchemaPlan, number>): number {
  const before = known.get(plan);
  if (before !== undefined) return before;
  known.set(plan, Number.POSITIVE_INFINITY);
  const total = plan.within.reduce((sum, inner) => sum + unfold(inner, known), plan.own);
  known.set(plan, total);
  return total;
}

/** Its values and names, long texts for several; no more than a little over `most`. */
function countParts(value: unknown, most: number): number {
  if (typeof value === "string") return 1 + value.length / 128;
  if (typeof value !== "object" || value === null) return 1;
  let parts = 1;
  for (const name of Object.keys(value)) {
    const inner: unknown = Reflect.get(value, name);
    parts += name.length / 128 + countParts(inner, most - parts);
    if (parts > most) break;
  }
  return parts;
}

class Estimate {
  /** What each schema spends on each object and list: they may be met again and again. */
  readonly #known = new Map<object, Map<SchemaPlan, number>>();
  #steps = 0;
  /** The dearest of what is not looked at part by part. */
  #dearest = { cost: 0, what: "" };

  findExcess(plan: SchemaPlan, value: unknown): string | undefined {
    if (this.#cost(plan, value) <= budget) return undefined;
    const { cost, what } = this.#dearest;
    const dear = cost > budget / 10 ? what : "a value of this size under this schema";
    return `It would take too long to check ${dear}.`;
  }

  #cost(plan: SchemaPlan, value: unknown): number {
    if (++this.#steps > budget) return Number.POSITIVE_INFINITY;
    if (typeof value !== "object" || value === null) return this.#sum(plan, value);
    const known = this.#known.get(value) ?? new Map<SchemaPlan, number>();
    this.#known.set(value, known);
    const before = known.get(plan);
    if (before !== undefined) return before;
    const cost = this.#sum(plan, value);
    known.set(plan, cost);
    return cost;
  }

  #sum(plan: SchemaPlan, value: unknown): number {
    const same = plan.own + this.#all(plan.again, value);
    const other = plan.oneOf.reduce((most, each) => Math.max(most, this.#cost(each, value)), 0);
    return same + other + this.#parts(plan, value);
  }

  #parts(plan: SchemaPlan, value: unknown): number {
    if (typeof value === "string") {
      const { pattern } = plan;
      return value.length / 500 + (pattern === undefined ? 0 : this.#match(pattern, value));
    }
    if (Array.isArray(value)) return this.#items(plan, value);
    return isObject(value) ? this.#properties(plan, value) : 0;
  }

  #all(plans: readonly SchemaPlan[], value: unknown): number {
    let cost = 0;
    for (const plan of plans) cost += this.#cost(plan, value);
    return cost;
  }

  #match({ source, cost }: SafePattern, text: string): number {
    const shown = JSON.stringify(source);
    return this.#note(
      cost(text.length) / 100,
      () => `a text of ${text.length} characters against the pattern ${shown}`,
    );
  }

  #items(plan: SchemaPlan, items: readonly unknown[]): number {
    let cost = plan.isUnique ? this.#compare(items) : 0;
    for (const [index, item] of items.entries()) {
      const placed = plan.prefix[index];
      cost += placed === undefined ? this.#all(plan.otherItems, item) : this.#cost(placed, item);
      cost += this.#all(plan.everyItem, item);
      if (cost > budget) break;
    }
    return cost;
  }

  /** Each is compared with each. */
  #compare(items: readonly unknown[]): number {
    const isPlain = items.every((item) => typeof item !== "object");
    const parts = isPlain ? items.length / 5 : countParts(items, budget);
    return this.#note(
      0.06 * items.length * parts,
      () => `a list of ${items.length} items that must all differ`,
    );
  }

  #properties(plan: SchemaPlan, value: Readonly<Record<string, unknown>>): number {
    let cost = 0;
    for (const [name, inner] of Object.entries(value)) {
      cost += name.length / 500 + this.#all(plan.names, name);
      const own = plan.properties.get(name);
      if (own !== undefined) cost += this.#cost(own, inner);
      let isNamed = own !== undefined;
      for (const pattern of plan.patterned) {
        cost += this.#match(pattern, name);
        if (cost > budget) return cost;
        if (!pattern.expression.test(name)) continue;
        isNamed = true;
        cost += this.#cost(pattern.plan, inner);
      }
      if (!isNamed) cost += this.#all(plan.otherProperties, inner);
      if (cost > budget) return cost;
    }
    return cost;
  }

  #note(cost: number, what: () => string): number {
    if (cost > this.#dearest.cost && cost > budget / 10) this.#dearest = { cost, what: what() };
    return cost;
  }
}
