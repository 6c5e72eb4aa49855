/** Where an event stands in a topic that is kept outside of this process. */
import type { Cursor } from "./event-hub.ts";

export interface Place {
  /** Tells one life of a topic from the next: a topic that is forgotten begins anew. */
  readonly epoch: string;
  /** 1 for the first event, and one more for each after. */
  readonly number: number;
}

const syntax = /^([0-9a-z]{13})-(0|[1-9]\d{0,14})$/;

export function toCursor({ epoch, number }: Place): Cursor {
  return `${epoch}-${number}`;
}

/** @returns undefined when it is no cursor that was ever given out. */
export function toPlace(cursor: Cursor): Place | undefined {
  const [, epoch, number] = syntax.exec(cursor) ?? [];
  return epoch === undefined ? undefined : { epoch, number: Number(number) };
}

/** 65 random bits: a restart, a restore and another worker all make another. */
export function makeEpoch(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(13));
  return Array.from(bytes, (byte) => (byte % 32).toString(32)).join("");
}
