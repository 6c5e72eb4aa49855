/** Conversations that belong together, and the columns of the matrix in which they are held. */
import type { Column } from "../support/conversing.ts";

export interface Group {
  readonly title: string;
  readonly columns: readonly Column[];
  /** States the tests of one column. */
  readonly declare: (...column: Column) => void;
}

export function group(title: string, columns: readonly Column[], declare: Group["declare"]): Group {
  return { title, columns, declare };
}
