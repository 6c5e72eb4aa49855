/**
 * From which states of a compiled template the end of a URI can be reached, position by position.
 * A hostile URI costs most here, so the states are laid out as plain numbers once.
 */
import type { State } from "./uri-template-program.ts";
import { cellCount, cellOf } from "./uri-template-units.ts";

/**
 * One cell per position and state: 0 where the end cannot be reached. In a run it is otherwise
 * one more than the fewest units that the run still has to take, which its `most` limits.
 */
export type Reach = Uint16Array;

const end = 0;
const text = 1;
const run = 2;
const choice = 3;
const kindOf = { end, text, run, choice } as const;

/** More units than any URI that is looked at has. */
const unlimited = 0xffff;

export interface Layout {
  readonly count: number;
  readonly kinds: Uint8Array;
  readonly nexts: Uint16Array;
  /** The units of texts and the options of choices one after another, and where each begins. */
  readonly lists: Int32Array;
  readonly begins: Uint16Array;
  readonly mosts: Uint16Array;
  /** What each run allows, by state and cell. */
  readonly allowed: Uint8Array;
  /** The longest text. */
  readonly widest: number;
}

export function layOut(states: readonly State[]): Layout {
  const count = states.length;
  const kinds = Uint8Array.from(states, ({ kind }) => kindOf[kind]);
  const nexts = new Uint16Array(count);
  const mosts = new Uint16Array(count);
  const allowed = new Uint8Array(count * cellCount);
  const begins = new Uint16Array(count + 1);
  const lists: number[] = [];
  let widest = 1;
  for (const [index, state] of states.entries()) {
    begins[index] = lists.length;
    if (state.kind === "choice") lists.push(...state.options);
    if (state.kind === "text") {
      lists.push(...state.units);
      widest = Math.max(widest, state.units.length);
    }
    if (state.kind === "run") {
      mosts[index] = Math.min(state.most, unlimited);
      allowed.set(state.allowed, index * cellCount);
    }
    if (state.kind === "text" || state.kind === "run") nexts[index] = state.next;
  }
  begins[count] = lists.length;
  return { count, kinds, nexts, lists: Int32Array.from(lists), begins, mosts, allowed, widest };
}

/** The table for a URI, or undefined as soon as nothing before can reach the end. */
export function findReach(layout: Layout, units: readonly number[]): Reach | undefined {
  const { count, widest } = layout;
  const reach = new Uint16Array((units.length + 1) * count);
  // What goes over a stretch that nothing gets through would have to be a text of that length.
  let blocked = 0;
  for (let at = units.length; at >= 0; at--) {
    blocked = settleRow(layout, reach, units, at) ? 0 : blocked + 1;
    if (blocked >= widest) return undefined;
  }
  return reach;
}

/** Whether the end can be reached from any state at this position. */
function settleRow(layout: Layout, reach: Reach, units: readonly number[], at: number): boolean {
  const { count, kinds } = layout;
  const cell = at < units.length ? cellOf(units[at] ?? 0) : -1;
  const row = at * count;
  let isOpen = false;
  for (let index = 0; index < count; index++) {
    let found = 0;
    const kind = kinds[index];
    if (kind === run) found = throughRun(layout, reach, row, index, cell);
    else if (kind === choice) found = throughChoice(layout, reach, row, index);
    else if (kind === text) found = throughText(layout, reach, units, at, index);
    else found = at === units.length ? 1 : 0;
    reach[row + index] = found;
    isOpen ||= found > 0;
  }
  return isOpen;
}

function throughRun(
  { count, nexts, mosts, allowed }: Layout,
  reach: Reach,
  row: number,
  index: number,
  cell: number,
): number {
  if ((reach[row + (nexts[index] ?? 0)] ?? 0) > 0) return 1;
  if (cell === -1 || allowed[index * cellCount + cell] !== 1) return 0;
  const rest = reach[row + count + index] ?? 0;
  return rest === 0 || rest > (mosts[index] ?? 0) ? 0 : rest + 1;
}

function throughChoice(
  { begins, lists }: Layout,
  reach: Reach,
  row: number,
  index: number,
): number {
  const last = begins[index + 1] ?? 0;
  for (let at = begins[index] ?? 0; at < last; at++) {
    if ((reach[row + (lists[at] ?? 0)] ?? 0) > 0) return 1;
  }
  return 0;
}

function throughText(
  { count, begins, lists, nexts }: Layout,
  reach: Reach,
  units: readonly number[],
  at: number,
  index: number,
): number {
  const first = begins[index] ?? 0;
  const length = (begins[index + 1] ?? 0) - first;
  if (at + length > units.length) return 0;
  for (let offset = 0; offset < length; offset++) {
    if (units[at + offset] !== lists[first + offset]) return 0;
  }
  return (reach[(at + length) * count + (nexts[index] ?? 0)] ?? 0) > 0 ? 1 : 0;
}
