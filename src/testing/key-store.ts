/** What every ring of shared keys promises, as tests. */
import type { KeyStore, RingKey } from "../core/key-store.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { assert, assertEqual, elapse, type Opened, perTest, type SuiteRunner } from "./runner.ts";

/**
 * `ttlMs` is both intervals: how old the newest key becomes before it is replaced, and how
 * much longer it opens after that.
 */
export interface OpenedKeyStore extends Opened {
  readonly store: KeyStore;
  /** Another worker's way to the same ring. @default the same store */
  readonly other?: KeyStore | undefined;
}

type Test = ReturnType<typeof perTest<OpenedKeyStore>>;

/**
 * States the contract of {@link KeyStore} to a test runner.
 *
 * @param open - opens a fresh ring, once for each test
 */
export function keyStoreSuite(open: () => Awaitable<OpenedKeyStore>, runner: SuiteRunner): void {
  const test = perTest(runner, open);
  statesAgreement(test);
  statesRotation(test);
}

function statesAgreement(test: Test): void {
  test("is empty at first, and holds the first key on every worker", async (opened) => {
    const { store, other = store } = opened;
    assertEqual(await store.read(), [], "a ring that nobody has rotated");
    const key = makeKey();
    const ring = await store.rotate(key);
    assertEqual(names(ring), [name(key)], "the ring after its first rotation");
    assertEqual(names(await other.read()), [name(key)], "the ring on another worker");
  });

  test("keeps every byte of a key", async ({ store, other = store }) => {
    const key = Uint8Array.from({ length: 32 }, (_, at) => (at % 2 === 0 ? at * 8 : 255 - at));
    await store.rotate(key);
    assertEqual(names(await other.read()), [name(key)], "the key");
  });

  test("takes one key of many workers that start at once", async ({ store, other = store }) => {
    const keys = Array.from({ length: 20 }, makeKey);
    const rings = await Promise.all(
      keys.map(async (key, at) => (at % 2 === 0 ? store : other).rotate(key)),
    );
    const [first] = names(rings[0] ?? []);
    for (const ring of rings) assertEqual(names(ring), [first], "the ring that a worker was given");
    assert(keys.map(name).includes(first ?? ""), "the key is one that was offered");
    assertEqual(names(await other.read()), [first], "the ring after all that");
  });

  test("refuses what is no key", async ({ store }) => {
    for (const length of [0, 16, 31, 33]) {
      const refused = (async () => store.rotate(new Uint8Array(length)))();
      const taken = await refused.then(() => true).catch(() => false);
      assert(!taken, `a key of ${length} bytes was taken`);
    }
    assertEqual(await store.read(), [], "the ring after that");
  });
}

function statesRotation(test: Test): void {
  test("keeps the newest key until it is old", async (opened) => {
    const { store, other = store, ttlMs } = opened;
    const [first, second] = [makeKey(), makeKey()];
    await store.rotate(first);
    await elapse(opened, ttlMs * 0.4);
    assertEqual(names(await other.rotate(second)), [name(first)], "the ring before its time");
    await elapse(opened, ttlMs * 0.8);
    const rotated = [name(second), name(first)];
    assertEqual(names(await other.rotate(second)), rotated, "the ring after its time");
    assertEqual(names(await store.read()), rotated, "the ring on another worker");
  });

  test("keeps an old key for what it sealed, and lets it go after that", async (opened) => {
    const { store, other = store, ttlMs } = opened;
    const [first, second] = [makeKey(), makeKey()];
    await store.rotate(first);
    await elapse(opened, ttlMs * 1.2);
    assertEqual(names(await other.read()), [name(first)], "the ring that nobody rotated");
    await other.rotate(second);
    await elapse(opened, ttlMs * 0.4);
    assertEqual(names(await store.read()), [name(second), name(first)], "the ring in between");
    await elapse(opened, ttlMs * 0.6);
    assertEqual(names(await store.read()), [name(second)], "the ring without the old key");
    assertEqual(names(await other.rotate(makeKey())).length, 2, "the keys after another rotation");
  });

  test("replaces an old key once, however many workers find it old", async (opened) => {
    const { store, other = store, ttlMs } = opened;
    await store.rotate(makeKey());
    await elapse(opened, ttlMs * 1.2);
    const rings = await Promise.all(
      Array.from({ length: 10 }, async (_, at) => (at % 2 === 0 ? store : other).rotate(makeKey())),
    );
    for (const ring of rings) assertEqual(ring.length, 2, "the keys that a worker was given");
    const newest = new Set(rings.map((ring) => names(ring)[0]));
    assertEqual(newest.size, 1, "how many keys took its place");
  });

  test("tells how old each key is", async (opened) => {
    const { store, ttlMs } = opened;
    await store.rotate(makeKey());
    await elapse(opened, ttlMs * 1.2);
    const [newest, older] = await store.rotate(makeKey());
    const [age, ageBefore] = [newest?.ageMs ?? -1, older?.ageMs ?? -1];
    assert(age >= 0 && age < ttlMs / 2, `a new key is ${age} ms old`);
    assert(ageBefore >= ttlMs && ageBefore < ttlMs * 2, `an old key is ${ageBefore} ms old`);
  });
}

function makeKey(): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(32));
}

function names(ring: readonly RingKey[]): string[] {
  return ring.map(({ bytes }) => name(bytes));
}

function name(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
