/** The contract of ordered events that every worker can write and read. */
import type { Awaitable } from "../util/awaitable.ts";

/** A place in a topic: what comes after it has not been seen. Opaque, and ordered by the topic. */
export type Cursor = string;

/** One event of a topic. */
export interface HubEvent {
  /** Where it stands: following from here shows what comes after it. */
  readonly cursor: Cursor;
  /** JSON or any other text; the hub does not look into it. */
  readonly data: string;
}

/**
 * Topics hold events in the order in which they were published, for some time after: longer
 * than a minute, for what must be found however silent it is is written to that often. A
 * follower sees each event after its cursor once, in that order, whoever published it. What
 * becomes of one topic is nothing to another. `eventHubSuite` of `anyrev/testing` has these
 * promises as tests, for a backend of your own.
 */
export interface EventHub {
  /** Adds an event to a topic. @returns where it stands. */
  publish(topic: string, data: string): Awaitable<Cursor>;
  /** The end of a topic as it is now: following from it shows only what comes later. */
  position(topic: string): Awaitable<Cursor>;
  /**
   * Whether a topic holds an event that is still kept: not before its first, not once the last
   * of them was forgotten or deleted. Asking neither begins a topic nor keeps it for longer.
   */
  exists(topic: string): Awaitable<boolean>;
  /**
   * Calls back for each event after a cursor, first for those that are there, then as they
   * come, one at a time, until the signal aborts: from then on it calls back no more. `onEvent`
   * must not throw; it may publish. With a signal that has aborted before, it only tells
   * whether the cursor can be gone on from.
   *
   * @returns false, and never calls back, when the topic no longer reaches back to the
   * cursor, or the cursor is none: a reader learns of a loss instead of missing it.
   */
  follow(
    topic: string,
    after: Cursor,
    onEvent: (event: HubEvent) => void,
    signal: AbortSignal,
  ): Awaitable<boolean>;
  /**
   * Forgets a topic and its events. Whoever follows it goes on to see what is published
   * after; a cursor from before it is lost, where events after it were forgotten.
   */
  delete(topic: string): Awaitable<void>;
}
