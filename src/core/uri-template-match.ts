/**
 * Holding a URI against a compiled template: one pass from its end finds from where the end can
 * be reached, one from its start takes the preferred way. Neither ever goes back, so the time
 * is linear in the URI whatever the URI is.
 */

import {
  allowedInValue,
  compileTemplate,
  type Program,
  type RunState,
  type Spelling,
} from "./uri-template-program.ts";
import { findReach, type Layout, layOut, type Reach } from "./uri-template-reach.ts";
import type { TemplateExpression, TemplatePart, TemplateValue } from "./uri-template-syntax.ts";
import { type AllowedUnits, cellOf, isPlain, toUnits, unitsToText } from "./uri-template-units.ts";
import { type Capture, emptyRecord, type TemplateMatch, toValues } from "./uri-template-values.ts";

export type TemplateMatcher = (uri: string) => TemplateMatch | undefined;

/** Bounds the table that matching fills in, so that a long URI cannot be used to take memory. */
const MAX_URI_LENGTH = 8192;

interface Matchable extends Program {
  readonly layout: Layout;
}

/** A template of one simple variable between two literals, the common case. */
interface SingleVariable {
  readonly name: string;
  readonly allowed: AllowedUnits;
}

/** @throws TypeError when the template would need too large an automaton. */
export function createTemplateMatcher(
  source: string,
  parts: readonly TemplatePart[],
): TemplateMatcher {
  const programs = spellingsOf(parts).map((spelling) => {
    const program = compileTemplate(source, parts, spelling);
    return { ...program, layout: layOut(program.states) };
  });
  const prefix = plainLiteral(parts[0]);
  const suffix = parts.length > 1 ? plainLiteral(parts.at(-1)) : "";
  const single = toSingleVariable(parts, prefix, suffix);
  return (uri) => {
    const middle = uri.length - prefix.length - suffix.length;
    if (middle < 0 || uri.length > MAX_URI_LENGTH) return undefined;
    if (!uri.startsWith(prefix) || !uri.endsWith(suffix)) return undefined;
    if (
      single !== undefined &&
      isPlain(uri, prefix.length, prefix.length + middle, single.allowed)
    ) {
      const values = emptyRecord<TemplateValue>();
      values[single.name] = uri.slice(prefix.length, prefix.length + middle);
      return values;
    }
    return matchPrograms(programs, uri);
  };
}

/**
 * What expansion could have written is read that way first: in `{id}{;page}`, "1;page=2" holds a
 * page although a client may leave ";" raw in an id.
 */
function spellingsOf(parts: readonly TemplatePart[]): readonly Spelling[] {
  const keepsReserved = parts.some(
    (part) => part.kind === "expression" && part.operator.keepsReserved,
  );
  const separations = keepsReserved ? [true, false] : [false];
  return [true, false].flatMap((exact) => separations.map((separate) => ({ exact, separate })));
}

/** A literal that equals only its own characters; one with escapes has several spellings. */
function plainLiteral(part: TemplatePart | undefined): string {
  return part?.kind === "literal" && /^[!-$&-~]*$/.test(part.text) ? part.text : "";
}

function toSingleVariable(
  parts: readonly TemplatePart[],
  prefix: string,
  suffix: string,
): SingleVariable | undefined {
  const expressions = parts.filter((part): part is TemplateExpression => part.kind !== "literal");
  const [expression] = expressions;
  const [variable, ...others] = expression?.variables ?? [];
  if (expression === undefined || variable === undefined) return undefined;
  const literals = (prefix === "" ? 0 : 1) + (suffix === "" ? 0 : 1);
  if (literals + 1 !== parts.length || expressions.length + others.length !== 1) return undefined;
  const { operator } = expression;
  if (operator.first !== "" || variable.explode || Number.isFinite(variable.prefix)) {
    return undefined;
  }
  return {
    name: variable.name,
    allowed: allowedInValue(expression, 0, { exact: false, separate: false }),
  };
}

/**
 * The first program that accepts the URI has the last word on what it says. What the last of them,
 * the loosest, does not accept, none does: so most hostile URIs are looked at once.
 */
function matchPrograms(programs: readonly Matchable[], uri: string): TemplateMatch | undefined {
  const units = toUnits(uri);
  const loosest = programs.at(-1);
  if (units === undefined || loosest === undefined) return undefined;
  const widest = findSearch(loosest, units);
  if (widest === undefined) return undefined;
  for (const program of programs) {
    const search = program === loosest ? widest : findSearch(program, units);
    if (search !== undefined) return toValues(program.slots, capture(search, program.start));
  }
  return undefined;
}

/** What is known of a URI whose end the program reaches. */
function findSearch({ states, start, layout }: Matchable, units: readonly number[]) {
  const reach = findReach(layout, units);
  return reach !== undefined && (reach[start] ?? 0) > 0 ? { states, units, reach } : undefined;
}

interface Search {
  readonly states: Program["states"];
  readonly units: readonly number[];
  readonly reach: Reach;
}

function reachAt({ states, reach }: Search, at: number, index: number): number {
  return reach[at * states.length + index] ?? 0;
}

/** The cell of a run after it has taken the unit at `at`, or 0 when it cannot take it. */
function restOfRun(search: Search, at: number, index: number, run: RunState): number {
  const unit = search.units[at];
  if (unit === undefined || run.allowed[cellOf(unit)] !== 1) return 0;
  return reachAt(search, at + 1, index);
}

/** Walks from the start, which must reach the end; every step keeps to states that reach it. */
function capture(search: Search, start: number): readonly Capture[] {
  const { states, units } = search;
  const captures: Capture[] = [];
  let at = 0;
  let index = start;
  for (;;) {
    const state = states[index];
    const from = at;
    switch (state?.kind) {
      case "text":
        if (state.opens !== undefined) {
          captures.push({ slot: state.opens, key: undefined, value: "" });
        }
        at += state.units.length;
        index = state.next;
        break;
      case "run":
        at = runEnd(search, at, index, state);
        index = state.next;
        addCapture(captures, state, unitsToText(units, from, at));
        break;
      case "choice":
        index = state.options.find((option) => reachAt(search, from, option) > 0) ?? -1;
        break;
      default:
        return captures;
    }
  }
}

/** The longest the run can be with the end still in reach. */
function runEnd(search: Search, from: number, index: number, run: RunState): number {
  let at = from;
  for (let left = run.most; left > 0; left--) {
    const rest = restOfRun(search, at, index, run);
    if (rest === 0 || rest > left) break;
    at++;
  }
  return at;
}

function addCapture(captures: Capture[], { role, slot }: RunState, value: string): void {
  switch (role) {
    case "value": {
      const pair = captures.at(-1);
      if (pair !== undefined) pair.value = value;
      break;
    }
    case "key":
      captures.push({ slot, key: value, value: "" });
      break;
    case "item":
      captures.push({ slot, key: undefined, value });
      break;
  }
}
