/**
 * From the pieces of a URI that a template captured to the values of its variables.
 */

import type { Slot } from "./uri-template-program.ts";
import { isList, type TemplateValue } from "./uri-template-syntax.ts";

export type TemplateMatch = Readonly<Record<string, TemplateValue>>;

export interface Capture {
  readonly slot: number;
  /** The name in a pair whose name is not the variable's. */
  readonly key: string | undefined;
  value: string;
}

/** What one expression tells of a variable. */
interface Occurrence {
  readonly value: TemplateValue;
  readonly prefix: number;
}

/** Without a prototype, so that a variable may have any name, `__proto__` included. */
export function emptyRecord<Value>(): Record<string, Value> {
  return Object.create(null);
}

/** @returns undefined when the captures contradict each other. */
export function toValues(
  slots: readonly Slot[],
  captures: readonly Capture[],
): TemplateMatch | undefined {
  const bySlot = slots.map((): Capture[] => []);
  for (const each of captures) bySlot[each.slot]?.push(each);
  const occurrences = new Map<string, Occurrence>();
  for (const [index, slot] of slots.entries()) {
    const own = bySlot[index] ?? [];
    if (isAbsent(slot, own)) continue;
    const { name, prefix, explode } = slot.variable;
    const value = explode ? toComposite(name, own) : toSingle(own);
    const agreed = value === undefined ? value : agree(occurrences.get(name), { value, prefix });
    if (agreed === undefined) return undefined;
    occurrences.set(name, agreed);
  }
  const values = emptyRecord<TemplateValue>();
  for (const [name, { value }] of occurrences) values[name] = value;
  return values;
}

function isAbsent({ blankIsAbsent }: Slot, captures: readonly Capture[]): boolean {
  return (
    captures.length === 0 || (blankIsAbsent && captures.length === 1 && captures[0]?.value === "")
  );
}

/** @returns undefined for a pair that was repeated. */
function toSingle(captures: readonly Capture[]): string | undefined {
  return captures.length === 1 ? captures[0]?.value : undefined;
}

/** @returns undefined for an associative array with a repeated name. */
function toComposite(name: string, captures: readonly Capture[]): TemplateValue | undefined {
  if (captures.every(({ key }) => key === undefined)) return captures.map(({ value }) => value);
  const pairs = emptyRecord<string>();
  for (const { key = name, value } of captures) {
    if (Object.hasOwn(pairs, key)) return undefined;
    pairs[key] = value;
  }
  return pairs;
}

/** Of two occurrences of one value, the one that tells more; undefined when they differ. */
function agree(one: Occurrence | undefined, other: Occurrence): Occurrence | undefined {
  if (one === undefined) return other;
  const oneIsText = typeof one.value === "string";
  const otherIsText = typeof other.value === "string";
  if (oneIsText && otherIsText) {
    const shared = Math.min(one.prefix, other.prefix);
    if (firstCodePoints(one.value, shared) !== firstCodePoints(other.value, shared)) {
      return undefined;
    }
    return one.prefix >= other.prefix ? one : other;
  }
  // A list is text where it is not exploded: `{list}{/list*}` writes it both ways.
  const same =
    oneIsText || otherIsText
      ? joined(one.value) === joined(other.value)
      : JSON.stringify(one.value) === JSON.stringify(other.value);
  if (!same) return undefined;
  return oneIsText ? other : one;
}

function firstCodePoints(text: string, count: number): string {
  return Number.isFinite(count) ? Array.from(text).slice(0, count).join("") : text;
}

function joined(value: TemplateValue): string {
  if (typeof value === "string") return value;
  return (isList(value) ? value : Object.entries(value).flat()).join(",");
}
