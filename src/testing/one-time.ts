/** What every store of used ids promises, as tests. */
import type { OneTimeStore } from "../core/one-time.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { assert, assertEqual, elapse, type Opened, perTest, type SuiteRunner } from "./runner.ts";

/** `ttlMs` is what the suite asks ids to be remembered for. */
export interface OpenedOneTimeStore extends Opened {
  readonly store: OneTimeStore;
  /** Another worker's way to the same ids. @default the same store */
  readonly other?: OneTimeStore | undefined;
}

/**
 * States the contract of {@link OneTimeStore} to a test runner.
 *
 * @param open - opens a fresh store, once for each test
 */
export function oneTimeStoreSuite(
  open: () => Awaitable<OpenedOneTimeStore>,
  runner: SuiteRunner,
): void {
  const test = perTest(runner, open);

  test("lets an id be claimed once, on whichever worker", async ({
    store,
    other = store,
    ttlMs,
  }) => {
    assert(await store.claim("a", ttlMs), "the first claim was refused");
    assert(!(await other.claim("a", ttlMs)), "a second claim was taken");
    assert(!(await store.claim("a", ttlMs)), "a third claim was taken");
  });

  test("knows ids apart", async ({ store, ttlMs }) => {
    for (const id of ["a", "A", "a ", "-_0", "__proto__", "constructor", "x".repeat(64)]) {
      assert(await store.claim(id, ttlMs), `${JSON.stringify(id)} was taken for another`);
    }
  });

  test("lets one of many that claim an id at once have it", async (opened) => {
    const { store, other = store, ttlMs } = opened;
    const claiming = Array.from({ length: 20 }, async (_, at) =>
      (at % 2 === 0 ? store : other).claim("a", ttlMs),
    );
    const claimed = (await Promise.all(claiming)).filter(Boolean);
    assertEqual(claimed.length, 1, "how many had it");
  });

  test("remembers an id for its whole time, however often it is claimed", async (opened) => {
    const { store, ttlMs } = opened;
    await store.claim("a", ttlMs);
    await store.claim("b", ttlMs / 10);
    for (let at = 0; at < 3; at++) {
      await elapse(opened, ttlMs / 4);
      assert(!(await store.claim("a", ttlMs)), "an id was forgotten within its time");
    }
  });
}
