/** Followers of a hub under test, and what they saw. */
import type { Cursor, EventHub } from "../stores/event-hub.ts";
import { assert, assertEqual, sleep, until } from "./runner.ts";

export interface Seen {
  readonly known: Promise<boolean>;
  readonly all: readonly string[];
  readonly cursors: readonly Cursor[];
  end(): void;
  /** Waits for these data, separated by blanks, and for no other. */
  reaches(expected: string): Promise<void>;
}

export function observe(
  hub: EventHub,
  topic: string,
  from: Cursor,
  onEvent?: (data: string) => void,
): Seen {
  const all: string[] = [];
  const cursors: Cursor[] = [];
  const ended = new AbortController();
  const known = (async () =>
    hub.follow(
      topic,
      from,
      ({ data, cursor }) => {
        all.push(data);
        cursors.push(cursor);
        onEvent?.(data);
      },
      ended.signal,
    ))();
  return {
    known,
    all,
    cursors,
    end: () => ended.abort(),
    reaches: async (expected) => {
      const enough = (): boolean => all.join(" ").length >= expected.length;
      await until(enough, `seeing ${JSON.stringify(expected)}`).catch(() => undefined);
      assertEqual(all.join(" "), expected, "what a follower saw");
    },
  };
}

/** Follows a topic, from where it stands unless told otherwise. */
export async function follow(
  hub: EventHub,
  topic: string,
  from?: Cursor,
  onEvent?: (data: string) => void,
): Promise<Seen> {
  const seen = observe(hub, topic, from ?? (await hub.position(topic)), onEvent);
  assert((await seen.known) === true, "a cursor was taken for lost that is not");
  return seen;
}

export async function assertLost(hub: EventHub, topic: string, cursor: Cursor): Promise<void> {
  const seen = observe(hub, topic, cursor);
  assert(!(await seen.known), `the loss after ${JSON.stringify(cursor)} was not told`);
  await sleep(1);
  assertEqual(seen.all, [], "what was called back in spite of a loss");
  seen.end();
}

/** Each hub publishes so many events to one topic, one after the other, all hubs at once. */
export async function publishAtOnce(hubs: readonly EventHub[], count: number): Promise<void> {
  const publishing = hubs.map(async (hub, publisher) => {
    for (let at = 0; at < count; at++) {
      await hub.publish("t", `${publisher}.${at}`);
      if (at % 3 === publisher % 3) await sleep(0);
    }
  });
  await Promise.all(publishing);
}
