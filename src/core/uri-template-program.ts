/**
 * The matching side of a URI template, compiled to a small automaton over URI units.
 * A state only points to states before it in the list, save where a character stands between:
 * so one pass over the list settles a position once the later positions are settled.
 */

import {
  malformedTemplate,
  type Operator,
  type TemplateExpression,
  type TemplatePart,
  type TemplateVariable,
} from "./uri-template-syntax.ts";
import { type AllowedUnits, allowUnits, toUnits } from "./uri-template-units.ts";

export interface EndState {
  readonly kind: "end";
}

/** Takes exactly these units. */
export interface TextState {
  readonly kind: "text";
  readonly units: readonly number[];
  /** The slot whose `name=value` pair this text begins. */
  readonly opens: number | undefined;
  next: number;
}

/** Takes up to `most` allowed units, as many as still lead to the end. */
export interface RunState {
  readonly kind: "run";
  readonly allowed: AllowedUnits;
  readonly most: number;
  readonly slot: number;
  /** `item` is a value by itself, `key` begins a pair, `value` completes the pair begun last. */
  readonly role: "item" | "key" | "value";
  next: number;
}

/** Takes nothing and goes on with the first option that leads to the end. */
export interface ChoiceState {
  readonly kind: "choice";
  readonly options: readonly number[];
}

export type State = EndState | TextState | RunState | ChoiceState;

/** One variable of one expression: where captures go. */
export interface Slot {
  readonly variable: TemplateVariable;
  /** Whether no character tells an empty list from none, as in `{list*}`. */
  readonly blankIsAbsent: boolean;
}

export interface Program {
  readonly states: readonly State[];
  readonly start: number;
  readonly slots: readonly Slot[];
}

/** With the longest URI that is looked at, bounds the table that matching fills in. */
const MAX_STATES = 256;

/** What a reading of the template lets a value hold. */
export interface Spelling {
  /**
   * Only what expansion writes; otherwise also the raw characters that RFC 3986 allows in that
   * place of a URI and that clients often do not escape.
   */
  readonly exact: boolean;
  /**
   * A value that keeps reserved characters leaves those that open a later expression to it, so
   * that `{+path}{?page}` finds a page.
   */
  readonly separate: boolean;
}

const UNRESERVED = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
const SEGMENT = `${UNRESERVED}!$&'()*+,;=:@`;
const QUERY = `${SEGMENT}/?`;
const RESERVED = `${QUERY}#[]`;

/** An expression on its way into states. */
interface PlacedExpression extends TemplateExpression {
  readonly spelling: Spelling;
  /** The slot of its first variable; those of the others follow. */
  readonly firstSlot: number;
  /** What opens the expressions after it: some of `OPENERS`. */
  readonly openersAfter: string;
}

/** RFC 6570 operators whose first character cannot also belong to a path. */
const OPENERS = "#;?&";

/** @throws TypeError when the template would need too large an automaton. */
export function compileTemplate(
  source: string,
  parts: readonly TemplatePart[],
  spelling: Spelling,
): Program {
  const slots: Slot[] = [];
  const firstSlots = parts.map((part) => {
    const first = slots.length;
    if (part.kind === "expression") slots.push(...toSlots(part));
    return first;
  });
  const states: State[] = [{ kind: "end" }];
  let start = 0;
  let openersAfter = "";
  for (let index = parts.length - 1; index >= 0; index--) {
    const part = parts[index];
    if (part === undefined) continue;
    if (part.kind === "literal") {
      start = add(states, text(part.text, start));
      continue;
    }
    const firstSlot = firstSlots[index] ?? 0;
    start = addExpression(states, { ...part, spelling, firstSlot, openersAfter }, start);
    if (OPENERS.includes(part.operator.first)) openersAfter += part.operator.first;
  }
  if (states.length > MAX_STATES) {
    throw malformedTemplate(
      source,
      0,
      `matching it takes ${states.length} states and ${MAX_STATES} is the limit; use fewer expressions`,
    );
  }
  return { states, start, slots };
}

/** What the value at `index` of an expression may hold. */
export function allowedInValue(
  expression: TemplateExpression,
  index: number,
  spelling: Spelling,
  openersAfter = "",
): AllowedUnits {
  const { operator } = expression;
  const strict = operator.keepsReserved && spelling.exact;
  const withheld =
    (spelling.separate && operator.keepsReserved ? openersAfter : "") +
    (takesSeparator(expression, index) ? "" : operator.separator);
  const raw = Array.from(rawCharacters(operator, spelling)).filter(
    (each) => !withheld.includes(each),
  );
  // Expansion has no reason to escape what it may leave raw: an escape is another variable's.
  return allowUnits(raw.join(""), strict ? RESERVED : "");
}

function takesSeparator({ operator, variables }: TemplateExpression, index: number): boolean {
  if (operator.named || variables[index]?.explode === true) return false;
  if (variables.length === 1) return true;
  // Where expansion leaves the separator unescaped in a value (RFC 6570 sections 3.2.3 to 3.2.5),
  // surplus separators have to belong to a value, and the last one takes them.
  const writesSeparator = operator.keepsReserved || operator.separator === ".";
  return writesSeparator && index === variables.length - 1;
}

function rawCharacters(operator: Operator, spelling: Spelling): string {
  if (operator.keepsReserved) return RESERVED;
  if (spelling.exact) return UNRESERVED;
  return operator.separator === "&" ? QUERY : SEGMENT;
}

function toSlots({ operator, variables }: TemplateExpression): Slot[] {
  return variables.map((variable) => ({
    variable,
    blankIsAbsent: variable.explode && variables.length === 1 && operator.first === "",
  }));
}

function add(states: State[], state: State): number {
  return states.push(state) - 1;
}

function text(characters: string, next: number, opens?: number): TextState {
  // Literals, names and separators were checked when the template was read: no bad escape is left.
  return { kind: "text", units: toUnits(characters) ?? [], opens, next };
}

/** Expressions are added last to first, so `exit`, what follows this one, is already there. */
function addExpression(states: State[], expression: PlacedExpression, exit: number): number {
  const { operator, variables } = expression;
  if (!operator.named) {
    const items = addItems(states, expression, exit);
    if (operator.first === "") return items;
    return add(states, {
      kind: "choice",
      options: [add(states, text(operator.first, items)), exit],
    });
  }
  const options = [addPairs(states, expression, exit, undefined)];
  const exploded = variables.findLastIndex((variable) => variable.explode);
  if (exploded !== -1) {
    // Second choice: pairs of any name, which are an associative array's.
    options.push(addPairs(states, expression, exit, expression.firstSlot + exploded));
  }
  return add(states, { kind: "choice", options: [...options, exit] });
}

/** Values told apart by position only: the first in the URI is the first in the expression. */
function addItems(states: State[], expression: PlacedExpression, exit: number): number {
  const { variables, spelling, openersAfter } = expression;
  // An exploded variable takes every value there is, so none is left for the variables after it.
  const exploded = variables.findIndex((variable) => variable.explode);
  const last = exploded === -1 ? variables.length - 1 : exploded;
  let following: number | undefined;
  for (let index = last; index >= 0; index--) {
    const run: RunState = {
      kind: "run",
      allowed: allowedInValue(expression, index, spelling, openersAfter),
      most: variables[index]?.prefix ?? 0,
      slot: expression.firstSlot + index,
      role: "item",
      next: exit,
    };
    following = addItem(states, expression.operator, run, index === exploded, following);
  }
  return following ?? exit;
}

/** A value, and the separator behind it when another can follow. */
function addItem(
  states: State[],
  operator: Operator,
  run: RunState,
  repeats: boolean,
  following: number | undefined,
): number {
  if (following === undefined && !repeats) return add(states, run);
  const exit = run.next;
  const separator = text(operator.separator, following ?? exit);
  run.next = add(states, { kind: "choice", options: [add(states, separator), exit] });
  const entry = add(states, run);
  if (repeats) separator.next = entry;
  // A value longer than the prefix allows can only be the next variable's.
  if (following === undefined || !Number.isFinite(run.most)) return entry;
  return add(states, { kind: "choice", options: [entry, following] });
}

/** `name=value` pairs in any order; `recordSlot` also takes the pairs of other names. */
function addPairs(
  states: State[],
  expression: PlacedExpression,
  exit: number,
  recordSlot: number | undefined,
): number {
  const { operator, variables, spelling, firstSlot } = expression;
  const separator = text(operator.separator, exit);
  let after = exit;
  if (variables.length > 1 || variables[0]?.explode === true) {
    const again = add(states, separator);
    // Pairs of any name leave what they can to the expressions that follow, as in `{?rest*}{&page}`.
    const options = recordSlot === undefined ? [again, exit] : [exit, again];
    after = add(states, { kind: "choice", options });
  }
  const allowed = allowedInValue(expression, 0, spelling);
  // Expansion writes a name without "=" only after ";" (RFC 6570 section 3.2.7), clients anywhere.
  const bareIsEmpty = operator.ifEmpty === "" || !spelling.exact;
  const pairs: number[] = [];
  for (const [index, { name, prefix }] of variables.entries()) {
    const slot = firstSlot + index;
    const role = "value";
    const value = add(states, { kind: "run", allowed, most: prefix, slot, role, next: after });
    pairs.push(add(states, text(`${name}=`, value, slot)));
    if (bareIsEmpty) pairs.push(add(states, text(name, after, slot)));
  }
  if (recordSlot !== undefined) {
    pairs.push(addRecordPair(states, operator, allowed, recordSlot, after));
  }
  separator.next = add(states, { kind: "choice", options: pairs });
  return add(states, text(operator.first, separator.next));
}

function addRecordPair(
  states: State[],
  operator: Operator,
  allowed: AllowedUnits,
  slot: number,
  after: number,
): number {
  const most = Number.POSITIVE_INFINITY;
  const value = add(states, { kind: "run", allowed, most, slot, role: "value", next: after });
  let next = add(states, text("=", value));
  // After "?" and "&" a bare word is no pair, so that a record never takes in a mistyped query.
  if (operator.ifEmpty === "") next = add(states, { kind: "choice", options: [next, after] });
  const allowedInKey = allowed.slice();
  allowedInKey["=".charCodeAt(0)] = 0;
  return add(states, { kind: "run", allowed: allowedInKey, most, slot, role: "key", next });
}
