/** What every event hub promises, as tests: pass them, and anyrev can ride on it. */
import type { Cursor, EventHub } from "../stores/event-hub.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { assertLost, follow, observe, publishAtOnce, type Seen } from "./hub-follower.ts";
import {
  assert,
  assertEqual,
  elapse,
  type Opened,
  perTest,
  type SuiteRunner,
  sleep,
  until,
} from "./runner.ts";

export interface OpenedHub extends Opened {
  readonly hub: EventHub;
  /** Another worker's way to the same topics. @default the same hub */
  readonly other?: EventHub | undefined;
}

type Test = ReturnType<typeof perTest<OpenedHub>>;

/**
 * States the contract of {@link EventHub} to a test runner.
 *
 * @param open - opens a fresh hub, once for each test
 */
export function eventHubSuite(open: () => Awaitable<OpenedHub>, runner: SuiteRunner): void {
  const test = perTest(runner, open);
  statesOrder(test);
  statesFollowing(test);
  statesCalls(test);
  statesAbort(test);
  statesLoss(test);
  statesExistence(test);
  statesIndependence(test);
}

function statesOrder(test: Test): void {
  test("shows events in the order in which they were published", async (opened) => {
    const seen = await follow(opened.hub, "t");
    for (const data of ["a", "b", "c"]) await opened.hub.publish("t", data);
    await seen.reaches("a b c");
  });

  test("shows one order to everybody, however many publish at once", async (opened) => {
    const { hub, other = hub } = opened;
    const start = await hub.position("t");
    const here = await follow(hub, "t", start);
    const there = await follow(other, "t", start);
    await publishAtOnce([hub, other, hub, other], 10);
    await until(() => here.all.length >= 40 && there.all.length >= 40, "40 events on both sides");
    assertEqual(there.all, here.all, "the order on another worker");
    const again = await follow(other, "t", start);
    await until(() => again.all.length >= 40, "40 events read again");
    assertEqual(again.all, here.all, "the order when read again");
    for (const publisher of ["0", "1", "2", "3"]) {
      const own = here.all.filter((data) => data.startsWith(`${publisher}.`));
      const expected = Array.from({ length: 10 }, (_, at) => `${publisher}.${at}`);
      assertEqual(own, expected, "the order of one publisher that waited for each");
    }
  });

  test("keeps data as it is, long and short", async ({ hub }) => {
    const seen = await follow(hub, "t");
    const data = [
      "",
      " ",
      '{"a":[1,null]}',
      "a\nb\r\nc",
      "é ☕ \u{1f9e8}",
      "x".repeat(100_000),
      "a\u0000b",
      "\u0001",
      "\ud800",
    ];
    for (const each of data) await hub.publish("t", each);
    await until(() => seen.all.length >= data.length, "all of them");
    assertEqual(seen.all, data, "the data");
  });
}

function statesFollowing(test: Test): void {
  test("gives a cursor with each event, the one that publishing returned", async ({ hub }) => {
    const seen = await follow(hub, "t");
    const cursors = [await hub.publish("t", "a"), await hub.publish("t", "b")];
    await seen.reaches("a b");
    assertEqual(seen.cursors, cursors, "the cursors");
    assert(new Set(cursors).size === 2, "two events have two cursors");
  });

  test("goes on after any cursor, with all that is there and all that comes", async (opened) => {
    const { hub, other = hub } = opened;
    const cursors = [await hub.position("t")];
    for (const data of ["a", "b", "c"]) cursors.push(await hub.publish("t", data));
    const rest = ["a b c", "b c", "c", ""];
    for (const [at, cursor] of cursors.entries()) {
      const seen = await follow(other, "t", cursor);
      await seen.reaches(rest[at] ?? "");
      await other.publish("t", "d");
      await seen.reaches(`${rest[at]} d`.trim());
      seen.end();
      // Those that follow later see it too.
      for (const [index, before] of rest.entries()) rest[index] = `${before} d`.trim();
    }
  });

  test("shows only what comes later from the position of a topic", async ({ hub }) => {
    await hub.publish("t", "before");
    const seen = await follow(hub, "t", await hub.position("t"));
    await hub.publish("t", "after");
    await seen.reaches("after");
  });

  test("goes on from the position of a topic that holds nothing yet", async ({ hub }) => {
    const start = await hub.position("t");
    await hub.publish("t", "a");
    await (await follow(hub, "t", start)).reaches("a");
  });

  test("loses and repeats nothing between what is there and what comes", async (opened) => {
    const { hub, other = hub } = opened;
    const start = await hub.position("t");
    const publishing = publishAtOnce([hub, other], 40);
    const followers: Seen[] = [];
    for (let at = 0; at < 20; at++) {
      followers.push(await follow(at % 2 === 0 ? hub : other, "t", start));
      if (at % 5 === 0) await sleep(1);
    }
    await publishing;
    const witness = followers[0];
    for (const seen of followers) {
      await until(() => seen.all.length >= 80, "80 events");
      assertEqual(seen.all, witness?.all, "what a follower saw that came in between");
    }
    assert(new Set(witness?.all).size === 80, "each event came once");
  });

  test("shows each event to every follower of its topic", async ({ hub, other = hub }) => {
    const all = [await follow(hub, "t"), await follow(other, "t"), await follow(hub, "t")];
    await hub.publish("t", "a");
    await other.publish("t", "b");
    for (const seen of all) await seen.reaches("a b");
  });
}

function statesCalls(test: Test): void {
  test("keeps the order when a follower publishes in turn", async ({ hub }) => {
    const published: Promise<unknown>[] = [];
    const onEvent = (data: string): void => {
      if (data === "a") published.push((async () => hub.publish("t", "b"))());
    };
    const first = await follow(hub, "t", undefined, onEvent);
    const second = await follow(hub, "t");
    await hub.publish("t", "a");
    await first.reaches("a b");
    await second.reaches("a b");
    await Promise.all(published);
  });

  test("calls back for one event at a time", async ({ hub }) => {
    const start = await hub.position("t");
    let within = 0;
    let nested = false;
    const published: Promise<unknown>[] = [];
    const onEvent = (data: string): void => {
      nested ||= within > 0;
      within++;
      if (data === "a") published.push((async () => hub.publish("t", "c"))());
      within--;
    };
    await hub.publish("t", "a");
    const seen = await follow(hub, "t", start, onEvent);
    await hub.publish("t", "b");
    await until(() => seen.all.length >= 3, "all three");
    await Promise.all(published);
    assert(!nested, "a callback ran inside another");
  });
}

function statesAbort(test: Test): void {
  test("calls back no more from the moment of the abort", async ({ hub, other = hub }) => {
    const aborted = await follow(hub, "t");
    const witness = await follow(hub, "t");
    await hub.publish("t", "a");
    await aborted.reaches("a");
    const publishing = other.publish("t", "b");
    aborted.end();
    const atAbort = aborted.all.length;
    await publishing;
    await other.publish("t", "c");
    await witness.reaches("a b c");
    await sleep(20);
    assertEqual(aborted.all.length, atAbort, "events after the abort");
  });

  test("stops within what is there, when the signal aborts at an event", async ({ hub }) => {
    const start = await hub.position("t");
    for (const data of ["a", "b", "c"]) await hub.publish("t", data);
    const ended = new AbortController();
    const seen: string[] = [];
    await hub.follow(
      "t",
      start,
      ({ data }) => {
        seen.push(data);
        ended.abort();
      },
      ended.signal,
    );
    const witness = await follow(hub, "t", start);
    await hub.publish("t", "d");
    await witness.reaches("a b c d");
    await sleep(20);
    assertEqual(seen, ["a"], "what came before and after the abort");
  });

  test("only tells what it could do, for a signal that has aborted before", async ({ hub }) => {
    const start = await hub.position("t");
    await hub.publish("t", "a");
    const seen: string[] = [];
    const ask = async (from: Cursor): Promise<boolean> =>
      hub.follow("t", from, ({ data }) => seen.push(data), AbortSignal.abort());
    assert(await ask(start), "a cursor was taken for lost that is not");
    assert(!(await ask("none")), "a cursor that is none was taken for one");
    const witness = await follow(hub, "t", start);
    await hub.publish("t", "b");
    await witness.reaches("a b");
    await sleep(20);
    assertEqual(seen, [], "what was called back");
    await hub.delete("t");
    assert(!(await ask(start)), "the loss of a deleted topic was not told");
  });

  test("takes one follower off without another", async ({ hub }) => {
    const [one, two] = [await follow(hub, "t"), await follow(hub, "t")];
    one.end();
    await hub.publish("t", "a");
    await two.reaches("a");
  });
}

function statesLoss(test: Test): void {
  test("tells a cursor that is none, and calls nobody back", async ({ hub }) => {
    await hub.publish("t", "a");
    for (const cursor of ["", " ", "none", "-1", "'; --", "\u{1f9e8}", "9".repeat(400)]) {
      await assertLost(hub, "t", cursor);
    }
  });

  test("keeps events for a while, and tells when they are gone", async (opened) => {
    const { hub } = opened;
    const start = await hub.position("t");
    await hub.publish("t", "a");
    await elapse(opened, opened.ttlMs / 4);
    await (await follow(hub, "t", start)).reaches("a");
    await elapse(opened, opened.ttlMs * 2);
    await assertLost(hub, "t", start);
    await hub.publish("t", "b");
    await assertLost(hub, "t", start);
  });

  test("shows a follower what comes after its topic was silent for long", async (opened) => {
    const { hub } = opened;
    const seen = await follow(hub, "t");
    await hub.publish("t", "a");
    await seen.reaches("a");
    await elapse(opened, opened.ttlMs * 2);
    await hub.publish("t", "b");
    await seen.reaches("a b");
  });

  test("tells that a topic was deleted, also once it is begun anew", async ({
    hub,
    other = hub,
  }) => {
    const start = await hub.position("t");
    const first = await hub.publish("t", "a");
    const last = await hub.publish("t", "b");
    await other.delete("t");
    for (const lost of [start, first]) await assertLost(hub, "t", lost);
    const anew = await hub.position("t");
    await hub.publish("t", "c");
    for (const lost of [start, first]) await assertLost(other, "t", lost);
    await (await follow(other, "t", anew)).reaches("c");
    // Nothing is lost after the last event, so it may be gone on from; but never in silence.
    const seen = observe(hub, "t", last);
    if (await seen.known) await seen.reaches("c");
    else assertEqual(seen.all, [], "what was called back in spite of the loss");
  });

  test("goes on for a follower whose topic is deleted", async ({ hub }) => {
    const seen = await follow(hub, "t");
    await hub.publish("t", "a");
    await seen.reaches("a");
    await hub.delete("t");
    await hub.publish("t", "b");
    await seen.reaches("a b");
  });

  test("deletes what is not there without a word", async ({ hub }) => {
    await hub.delete("never");
    await hub.publish("t", "a");
    await hub.delete("t");
    await hub.delete("t");
  });
}

function statesExistence(test: Test): void {
  test("tells that a topic exists from its first event on, whoever asks", async (opened) => {
    const { hub, other = hub } = opened;
    const start = await hub.position("t");
    const ended = new AbortController();
    await hub.follow("t", start, () => undefined, ended.signal);
    for (const each of [hub, other]) {
      assert(!(await each.exists("t")), "a topic exists that never held an event");
    }
    // An event without data is an event.
    await hub.publish("t", "");
    for (const each of [hub, other]) {
      assert(await each.exists("t"), "a topic with an event does not exist");
      assert(!(await each.exists("another")), "one topic was taken for another");
    }
    await hub.publish("t", "a");
    assert(await other.exists("t"), "a topic with two events does not exist");
    ended.abort();
  });

  test("tells that a deleted topic does not exist, until it is begun anew", async (opened) => {
    const { hub, other = hub } = opened;
    await hub.publish("t", "a");
    await hub.publish("another", "a");
    await other.delete("t");
    for (const each of [hub, other]) {
      assert(!(await each.exists("t")), "a deleted topic exists");
      assert(await each.exists("another"), "a topic went with another");
    }
    await other.publish("t", "b");
    for (const each of [hub, other]) assert(await each.exists("t"), "a topic was not begun anew");
  });

  test("tells that a topic exists as long as its events are kept, asked or not", async (opened) => {
    const { hub, other = hub } = opened;
    await hub.publish("t", "a");
    const ended = new AbortController();
    await hub.follow("t", await hub.position("t"), () => undefined, ended.signal);
    await elapse(opened, opened.ttlMs / 4);
    assert(await hub.exists("t"), "a topic does not exist whose events are kept");
    await elapse(opened, opened.ttlMs * 2);
    for (const each of [hub, other]) {
      assert(!(await each.exists("t")), "a topic exists whose events are gone");
    }
    ended.abort();
  });
}

const names = ["t", "T", "t ", " t", "", "t:1", "t*", "%", "__proto__", "constructor", "é"];

function statesIndependence(test: Test): void {
  test("keeps topics apart, whatever they are called", async ({ hub }) => {
    const starts = new Map<string, Cursor>();
    for (const name of names) starts.set(name, await hub.position(name));
    const seen = await Promise.all(names.map((name) => follow(hub, name, starts.get(name))));
    for (const name of names) await hub.publish(name, `to ${name}`);
    for (const [at, name] of names.entries()) await seen[at]?.reaches(`to ${name}`);
  });

  test("keeps a topic whole when another is deleted", async ({ hub, other = hub }) => {
    const start = await hub.position("t");
    await hub.publish("another", "a");
    await other.publish("another", "b");
    await other.delete("another");
    const seen = await follow(hub, "t", start);
    await hub.publish("t", "c");
    await seen.reaches("c");
    await (await follow(other, "t", start)).reaches("c");
  });

  test("keeps a topic whole when another has expired", async (opened) => {
    const { hub } = opened;
    await hub.publish("another", "a");
    const start = await hub.position("t");
    await hub.publish("another", "b");
    await elapse(opened, opened.ttlMs * 2);
    await hub.publish("another", "c");
    await hub.publish("t", "d");
    await (await follow(hub, "t", start)).reaches("d");
  });
}
