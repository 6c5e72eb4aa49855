/** What every session store promises, as tests: pass them, and anyrev keeps its sessions there. */
import type { SessionStore } from "../stores/session-store.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { record } from "./record.ts";
import { assert, assertEqual, elapse, type Opened, perTest, type SuiteRunner } from "./runner.ts";

/** `ttlMs` is how long a record lives unless it is saved or touched. */
export interface OpenedSessionStore extends Opened {
  readonly store: SessionStore;
  /** Another worker's way to the same records. @default the same store */
  readonly other?: SessionStore | undefined;
}

type Test = ReturnType<typeof perTest<OpenedSessionStore>>;

/**
 * States the contract of {@link SessionStore} to a test runner.
 *
 * @param open - opens a fresh store, once for each test
 */
export function sessionStoreSuite(
  open: () => Awaitable<OpenedSessionStore>,
  runner: SuiteRunner,
): void {
  const test = perTest(runner, open);
  statesKeeping(test);
  statesSaving(test);
  statesDeleting(test);
  statesExpiry(test);
}

function statesKeeping(test: Test): void {
  test("gives back what was created, on every worker", async ({ store, other = store }) => {
    const full = record("a", {
      client: { name: "é ☕", version: "1", title: 'with "quotes"' },
      capabilities: { roots: { listChanged: true }, elicitation: { form: {}, url: {} } },
      logLevel: "warning",
      subscriptions: ["note://1", "note://é?x=1&y='2'"],
      principal: "someone é ☕",
      values: { count: 1, nested: { list: [1, null, "\u0000 \ud800"] }, "": "", __proto: {} },
    });
    const bare = record("b", { revision: "2024-11-05", client: undefined, capabilities: {} });
    await store.create(full);
    await other.create(bare);
    assertEqual(await other.get("a"), full, "a full record");
    assertEqual(await store.get("b"), bare, "a bare record");
  });

  test("gives the record to who touches it, as it is by then", async (opened) => {
    const { store, other = store } = opened;
    await store.create(record("a"));
    assertEqual(await other.touch("a"), record("a"), "the record that was touched");
    const saved = record("a", { logLevel: "error", values: { count: 1 } });
    await store.save(saved, 0);
    assertEqual(await other.touch("a"), { ...saved, writeVersion: 1 }, "the record touched again");
    assertEqual(await store.touch("b"), undefined, "a record that is not there");
  });

  test("knows a record by its own id alone", async ({ store }) => {
    await store.create(record("a"));
    const others = [
      "A",
      "a ",
      " a",
      "",
      "b",
      "a%",
      "*",
      "__proto__",
      "constructor",
      "x".repeat(128),
    ];
    for (const id of others) {
      assertEqual(await store.get(id), undefined, `what is kept under ${JSON.stringify(id)}`);
      assert(!(await store.touch(id)), `${JSON.stringify(id)} was touched`);
      assert(!(await store.delete(id)), `${JSON.stringify(id)} was deleted`);
      assert(!(await store.save(record(id), 0)), `${JSON.stringify(id)} was saved`);
    }
    assertEqual(await store.get("a"), record("a"), "the record after all that");
  });
}

function statesSaving(test: Test): void {
  test("saves over the write version that was read, and counts one up", async (opened) => {
    const { store, other = store } = opened;
    await store.create(record("a"));
    const first = record("a", { logLevel: "error", subscriptions: ["note://1"] });
    assert(await other.save(first, 0), "the first save was refused");
    assertEqual(await store.get("a"), { ...first, writeVersion: 1 }, "the record saved once");
    const second = record("a", { logLevel: undefined, writeVersion: 1 });
    assert(await store.save(second, 1), "the second save was refused");
    assertEqual(await other.get("a"), { ...second, writeVersion: 2 }, "the record saved twice");
  });

  test("saves nothing over a version that is not the one that is there", async ({ store }) => {
    await store.create(record("a"));
    assert(await store.save(record("a", { logLevel: "error" }), 0), "a save was refused");
    for (const version of [0, 2, -1]) {
      const late = record("a", { logLevel: "debug", writeVersion: version });
      assert(!(await store.save(late, version)), `a save over version ${version} was taken`);
    }
    const kept = record("a", { logLevel: "error", writeVersion: 1 });
    assertEqual(await store.get("a"), kept, "the record");
  });

  test("counts by the version that is passed, whatever the record says", async ({ store }) => {
    await store.create(record("a"));
    assert(await store.save(record("a", { writeVersion: 41 }), 0), "a save was refused");
    assertEqual((await store.get("a"))?.writeVersion, 1, "the version");
  });

  test("lets one of many writers at once win, and the others know", async (opened) => {
    const { store, other = store } = opened;
    await store.create(record("a"));
    const saving = Array.from({ length: 20 }, async (_, at) => {
      const by = at % 2 === 0 ? store : other;
      return by.save(record("a", { subscriptions: [`note://${at}`] }), 0);
    });
    const won = (await Promise.all(saving)).flatMap((saved, at) => (saved ? [at] : []));
    assertEqual(won.length, 1, "how many won");
    const kept = record("a", { subscriptions: [`note://${won[0]}`], writeVersion: 1 });
    assertEqual(await other.get("a"), kept, "what the winner wrote");
  });

  test("loses no write of those who read again and decide again", async (opened) => {
    const { store, other = store } = opened;
    await store.create(record("a"));
    const uris = Array.from({ length: 12 }, (_, at) => `note://${at}`);
    await Promise.all(uris.map((uri, at) => subscribe(at % 2 === 0 ? store : other, uri)));
    const kept = await store.get("a");
    assertEqual([...(kept?.subscriptions ?? [])].sort(), [...uris].sort(), "the subscriptions");
    assertEqual(kept?.writeVersion, uris.length, "the version");
  });

  test("does not change a record that somebody has read", async ({ store }) => {
    await store.create(record("a"));
    const read = await store.get("a");
    await store.save(record("a", { logLevel: "error" }), 0);
    assertEqual(read, record("a"), "what was read before the save");
  });
}

function statesDeleting(test: Test): void {
  test("deletes once, and keeps nothing of what was deleted", async (opened) => {
    const { store, other = store } = opened;
    await store.create(record("a"));
    await store.create(record("b"));
    assert(await other.delete("a"), "the record was not there to delete");
    assert(!(await store.delete("a")), "it was deleted twice");
    assertEqual(await store.get("a"), undefined, "the deleted record");
    assert(!(await store.save(record("a"), 0)), "a deleted record was saved");
    assert(!(await other.touch("a")), "a deleted record was touched");
    assertEqual(await store.get("b"), record("b"), "the other record");
  });

  test("lets one of many that delete at once know that it did", async (opened) => {
    const { store, other = store } = opened;
    await store.create(record("a"));
    const deleting = Array.from({ length: 10 }, async (_, at) =>
      (at % 2 === 0 ? store : other).delete("a"),
    );
    const deleted = (await Promise.all(deleting)).filter(Boolean);
    assertEqual(deleted.length, 1, "how many deleted it");
  });
}

function statesExpiry(test: Test): void {
  const uses: readonly (readonly [string, (store: SessionStore) => Awaitable<unknown>])[] = [
    ["touched", (store) => store.touch("a")],
    ["saved", (store) => store.save(record("a"), 0)],
  ];
  for (const [used, use] of uses) {
    test(`lets a record live on from when it was last ${used}`, async (opened) => {
      const { store, other = store, ttlMs } = opened;
      await store.create(record("a"));
      await elapse(opened, ttlMs * 0.6);
      assert(Boolean(await use(other)), `a record within its time was not ${used}`);
      await elapse(opened, ttlMs * 0.6);
      assert((await store.get("a")) !== undefined, "the record expired too early");
      await elapse(opened, ttlMs * 0.6);
      assertEqual(await store.get("a"), undefined, "the record after its time");
    });
  }

  test("lets no record live on for being read, or for a save that failed", async (opened) => {
    const { store, ttlMs } = opened;
    await store.create(record("a"));
    await elapse(opened, ttlMs * 0.6);
    assert((await store.get("a")) !== undefined, "the record expired too early");
    assert(!(await store.save(record("a"), 3)), "a save over another version was taken");
    await elapse(opened, ttlMs * 0.6);
    assertEqual(await store.get("a"), undefined, "the record after its time");
  });

  test("takes a record that expired as if it never was", async (opened) => {
    const { store, other = store, ttlMs } = opened;
    await store.create(record("a"));
    await elapse(opened, ttlMs * 1.2);
    assert(!(await store.touch("a")), "an expired record was touched");
    assert(!(await other.save(record("a"), 0)), "an expired record was saved");
    assert(!(await store.delete("a")), "an expired record was there to delete");
    assertEqual(await other.get("a"), undefined, "the expired record");
    const anew = record("a", { revision: "2025-11-25" });
    await store.create(anew);
    assertEqual(await other.get("a"), anew, "the record that took its id");
  });
}

async function subscribe(store: SessionStore, uri: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const read = await store.get("a");
    if (read === undefined) break;
    const changed = { ...read, subscriptions: [...read.subscriptions, uri] };
    if (await store.save(changed, read.writeVersion)) return;
  }
  throw new Error(`${uri} could not be written in 100 attempts`);
}
