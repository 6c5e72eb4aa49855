/** What a shared hub asks of the store that it is kept in. */
import type { Awaitable } from "../util/awaitable.ts";
import type { Place } from "./place.ts";

/** What a topic holds after a place, as of one moment. */
export interface Reading {
  readonly epoch: string;
  /** The number of the last event there ever was; 0 before the first. */
  readonly last: number;
  /** The number of the last event that is kept no more. */
  readonly lost: number;
  /** In order: after the place, or all there is where that was in another life of the topic. */
  readonly events: readonly Numbered[];
  /** There may be more after these. */
  readonly isFull: boolean;
}

/** An event as it is kept. */
export interface Numbered {
  readonly number: number;
  readonly data: string;
}

/** What a backend does with topics. Names and data are text that it keeps as it is. */
export interface Topics {
  publish(topic: string, data: string): Awaitable<Place>;
  /** Begins the topic if it is not there. */
  position(topic: string): Awaitable<Place>;
  exists(topic: string): Awaitable<boolean>;
  /** @returns undefined when there is no such topic. */
  read(topic: string, after: Place): Awaitable<Reading | undefined>;
  delete(topic: string): Awaitable<void>;
  /** Keeps it known where these topics stand, though nothing is published. */
  keep(topics: readonly string[]): Awaitable<void>;
}

/** Tells that there is something to read. It may ring too often, and must ring in the end. */
export interface Bell {
  /** There is a topic to listen for; called again for each. */
  open(): void;
  close(): Awaitable<void>;
}

/** What a bell rings at. */
export interface Ringing {
  /** @param place - where the topic stands by now, where that is known */
  one(topic: string, place?: Place): void;
  all(): void;
  /** The topics that are followed. */
  topics(): readonly string[];
  fault(cause: unknown): void;
}

/** Whether a topic can be gone on from a place in it. */
export function reaches(reading: Reading | undefined, { epoch, number }: Place): boolean {
  if (reading === undefined || reading.epoch !== epoch) return false;
  return number >= reading.lost && number <= reading.last;
}

/** Where whoever was at a place is once it has been shown a reading. */
export function placeAfter({ epoch, lost, events }: Reading, at: Place | undefined): Place {
  const before = at?.epoch === epoch ? at.number : 0;
  const shown = events.at(-1)?.number ?? 0;
  return { epoch, number: Math.max(before, lost, shown) };
}
