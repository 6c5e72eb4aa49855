/** What a session store that is capped does at its caps, as tests. */
import type { SessionStore, SessionStoreOptions } from "../stores/session-store.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { record } from "./record.ts";
import { assert, assertEqual, type Opened, type SuiteRunner, sleep } from "./runner.ts";
import type { OpenedSessionStore } from "./session-store.ts";

/**
 * States to a test runner what becomes of sessions past the caps of {@link SessionStoreOptions}.
 *
 * @param open - opens a fresh store with these caps, once for each test
 */
export function sessionCapsSuite(
  open: (caps: SessionStoreOptions) => Awaitable<OpenedSessionStore>,
  { test }: SuiteRunner,
): void {
  const capped = (
    name: string,
    caps: SessionStoreOptions,
    run: (opened: OpenedSessionStore) => Promise<void>,
  ): unknown =>
    test(name, async () => {
      const opened = await open(caps);
      try {
        await run(opened);
      } finally {
        await opened.close?.();
      }
    });
  statesTotal(capped);
  statesPrincipals(capped);
  statesSize(capped);
}

type Capped = (
  name: string,
  caps: SessionStoreOptions,
  run: (opened: OpenedSessionStore) => Promise<void>,
) => unknown;

function statesTotal(test: Capped): void {
  test("ends the longest idle of all past the cap", { maxSessions: 3 }, async (opened) => {
    const { store, other = store } = opened;
    for (const id of ["a", "b", "c"]) await createLater(opened, id);
    assert(await other.save(record("a"), 0), "a save was refused");
    await pause(opened);
    await createLater(opened, "d");
    assertEqual(await living(other, ["a", "b", "c", "d"]), ["a", "c", "d"], "who is left");
    await createLater(opened, "e");
    assertEqual(await living(store, ["a", "c", "d", "e"]), ["a", "d", "e"], "who is left then");
  });

  test("keeps to the cap however many open at once", { maxSessions: 5 }, async (opened) => {
    const { store, other = store } = opened;
    const ids = Array.from({ length: 20 }, (_, at) => `s${at}`);
    await Promise.all(ids.map(async (id, at) => (at % 2 === 0 ? store : other).create(record(id))));
    assertEqual((await living(store, ids)).length, 5, "how many are left");
  });

  test("keeps room for what is deleted", { maxSessions: 2 }, async ({ store, other = store }) => {
    for (let at = 0; at < 10; at++) {
      await store.create(record(`s${at}`));
      assert(await other.delete(`s${at}`), "a session was not there to delete");
      await other.create(record(`t${at}`));
      if (at > 0) assert(await store.delete(`t${at}`), "a session was pushed out too early");
    }
    assertEqual(await living(store, ["t0"]), ["t0"], "the session that was left alone");
  });
}

function statesPrincipals(test: Capped): void {
  const caps = { maxSessions: 6, maxSessionsPerPrincipal: 2 };

  test("ends a principal's own longest idle past its cap", caps, async (opened) => {
    const { store, other = store } = opened;
    await createLater(opened, "x", "somebody else");
    for (const id of ["a", "b", "c"]) await createLater(opened, id, "é");
    assertEqual(await living(other, ["x", "a", "b", "c"]), ["x", "b", "c"], "who is left");
    assert(await other.delete("b"), "a session was not there to delete");
    await createLater(opened, "d", "é");
    assertEqual(await living(other, ["x", "c", "d"]), ["x", "c", "d"], "who is left then");
  });

  test("does not count those of nobody in particular together", caps, async (opened) => {
    const ids = ["a", "b", "c", "d"];
    for (const id of ids) await createLater(opened, id);
    assertEqual(await living(opened.store, ids), ids, "who is left");
  });

  test("knows principals apart", caps, async (opened) => {
    const principals = ["a", "A", "a ", "__proto__", "a:b"];
    for (const [at, principal] of principals.entries()) {
      await createLater(opened, `s${at}`, principal);
    }
    const ids = principals.map((_, at) => `s${at}`);
    assertEqual(await living(opened.store, ids), ids, "who is left");
  });
}

function statesSize(test: Capped): void {
  test("refuses a record that is too large, and keeps what was there", {
    maxLength: 2_000,
  }, async ({ store, other = store }) => {
    const large = { text: "x".repeat(2_000) };
    assertEqual(
      await refusal(() => store.create(record("b", { values: large }))),
      "too-large",
      "why",
    );
    assertEqual(await other.get("b"), undefined, "what was refused");
    await store.create(record("a"));
    const refused = await refusal(() => store.save(record("a", { values: large }), 0));
    assertEqual(refused, "too-large", "why it was refused");
    assertEqual(await other.get("a"), record("a"), "the record after that");
    const fits = record("a", { values: { text: "x".repeat(1_000) } });
    assert(await other.save(fits, 0), "a record that fits was refused");
  });
}

/** What orders sessions by how long they are idle is a clock, of milliseconds perhaps. */
async function createLater(opened: OpenedSessionStore, id: string, principal = ""): Promise<void> {
  await opened.store.create(record(id, { principal }));
  await pause(opened);
}

function pause({ pass }: Opened): Awaitable<void> {
  return pass === undefined ? sleep(3) : pass(3);
}

async function living(store: SessionStore, ids: readonly string[]): Promise<string[]> {
  const left: string[] = [];
  for (const id of ids) if ((await store.get(id)) !== undefined) left.push(id);
  return left;
}

/** The code of the error that something fails with. */
async function refusal(run: () => Awaitable<unknown>): Promise<unknown> {
  try {
    await run();
    return "nothing";
  } catch (cause) {
    return cause instanceof Error && "code" in cause ? cause.code : String(cause);
  }
}
