/** Three processes behind a balancer that sends each request to the next one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildFixtures, patience } from "../support/program.ts";
import { isObject, type JsonObject, type Revision, revisions } from "../support/schemas.ts";
import { type Talk, Talker } from "../support/talk.ts";
import {
  type Backend,
  backends,
  placeIn,
  type StorePlace,
  WorkerGroup,
} from "../support/worker-group.ts";

const handshakes = revisions.slice(1);
const resuming = handshakes.filter((revision) => revision >= "2025-03-26");
/** Those whose questions are pushed while the call waits. */
const pushing = handshakes.filter((revision) => revision >= "2025-06-18");

beforeAll(buildFixtures, patience);

describe.each(backends)("Three workers over %s", (backend: Backend) => {
  let place: StorePlace;
  let group: WorkerGroup;

  beforeAll(async () => {
    place = await placeIn(backend);
    group = await WorkerGroup.open(place.address);
  }, patience);

  afterAll(async () => {
    await group[Symbol.asyncDispose]();
    await place[Symbol.asyncDispose]();
  });

  const open = (revision: Revision) => Talker.open(group.service, revision);
  const pid = async (talker: Talker): Promise<number> =>
    Number((await resultOf(talker.call("whoami"))).pid);

  describe.each(handshakes)("in %s", (revision) => {
    test("a session opened on one is used on all", async () => {
      const talker = await open(revision);
      const pids = [await pid(talker), await pid(talker), await pid(talker)];
      expect(new Set(pids)).toEqual(new Set(group.members.map((each) => each.pid)));
      const { client, session } = await resultOf(talker.call("whoami"));
      expect([client, session]).toEqual([
        expect.objectContaining({ name: "raw-driver" }),
        talker.session,
      ]);
    });

    test("what one keeps for a session, the next gives back", async () => {
      const talker = await open(revision);
      await talker.call("remember", { key: "city", value: "Oslo" }).result();
      expect(await resultOf(talker.call("recall", { key: "city" }))).toEqual({ value: "Oslo" });
      const other = await open(revision);
      expect(await resultOf(other.call("recall", { key: "city" }))).toEqual({ value: null });
    });

    test("calls on all at once lose none of what they write", async () => {
      const talker = await open(revision);
      const counts = await Promise.all(
        Array.from({ length: 12 }, () => resultOf(talker.call("count", { key: "n" }))),
      );
      const seen = counts.map(({ count }) => Number(count)).sort((a, b) => a - b);
      expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
      expect(await resultOf(talker.call("recall", { key: "n" }))).toEqual({ value: 12 });
    });

    test("a session subscribed on one hears of a change made on another", async () => {
      const talker = await open(revision);
      const stream = talker.listen();
      await stream.live;
      const uri = "test://watched-resource";
      await talker.ask("resources/subscribe", { uri }).result();
      await talker.call("touch", { uri }).result();
      const told = await stream.told("notifications/resources/updated");
      expect(told["params"]).toMatchObject({ uri });
      stream.drop();
    });

    test("DELETE on one ends it for all, with its streams", async () => {
      const talker = await open(revision);
      const stream = talker.listen();
      await stream.live;
      expect(await talker.end()).toBe(204);
      expect(await stream.rest()).toEqual([]);
      for (let turn = 0; turn < 3; turn++) expect(await talker.call("whoami").status()).toBe(404);
    });
  });

  test.each(pushing)(
    "in %s, questions asked by one are answered through others",
    async (revision) => {
      const talker = await open(revision);
      const call = talker.call("ask_twice", { first: "one?", second: "two?" });
      for (const answer of ["1", "2"]) {
        const asked = await call.told("elicitation/create");
        expect(await talker.answer(asked, { action: "accept", content: { answer } })).toBe(202);
      }
      expect(await resultOf(call)).toMatchObject({
        first: "1",
        second: "2",
        count: expect.any(Number),
      });
    },
  );

  test.each(["2024-11-05", "2025-03-26"] as const)(
    "in %s, a question that the model carries goes on at another worker",
    async (revision) => {
      const talker = await open(revision);
      const args = { first: "one?", second: "two?" };
      const first = await talker.call("ask_twice", args).text();
      const [, state] = /"_state": "([\w-]+)"/.exec(first) ?? [];
      expect(state, first).toBeDefined();
      const second = await talker
        .call("ask_twice", { ...args, _answers: { first: { answer: "1" } }, _state: state })
        .text();
      expect(second).toContain("two?");
    },
  );

  test.each(resuming)(
    "in %s, a stream lost with one is resumed on another without loss or repeat",
    async (revision) => {
      const talker = await open(revision);
      const lost = talker.call("count_to", { n: 12, delayMs: 40 }, { token: "t" });
      for (let count = 0; count < 3; count++) await lost.next();
      lost.drop();
      const resumed = talker.resume(lost);
      expect(await resumed.text()).toBe("counted to 12");
      expect([...steps(lost.messages), ...steps(resumed.messages)]).toEqual(
        Array.from({ length: 12 }, (_, index) => index + 1),
      );
    },
  );

  describe("in 2026-07-28", () => {
    const revision = "2026-07-28";

    test("the rounds of a call run on three workers, and its effect happens once", async () => {
      const talker = await open(revision);
      const params = { name: "ask_twice", arguments: { first: "one?", second: "two?" } };
      const first = await talker.ask("tools/call", params).result();
      const second = await talker
        .ask("tools/call", { ...params, ...answering(first, "first", "1") })
        .result();
      const third = talker.ask("tools/call", { ...params, ...answering(second, "second", "2") });
      const { count, effects, ...answers } = await resultOf(third);
      expect(answers).toEqual({ first: "1", second: "2" });
      // The worker that ended the call is not the one that had its effect.
      expect([count, effects]).toEqual([expect.any(Number), expect.any(Number)]);
    });

    test("a listener on one hears of a change made on another", async () => {
      const talker = await open(revision);
      const uri = "test://watched-resource";
      const stream = talker.ask("subscriptions/listen", {
        notifications: { resourceSubscriptions: [uri] },
      });
      await stream.told("notifications/subscriptions/acknowledged");
      await talker.call("touch", { uri }).result();
      const told = await stream.told("notifications/resources/updated");
      expect(told["params"]).toMatchObject({ uri });
      stream.drop();
    });

    test("what is kept behind a handle is there on every worker, and for no other handle", async () => {
      const talker = await open(revision);
      const { handle } = await resultOf(talker.call("remember", { key: "k", value: "v" }));
      for (let turn = 0; turn < 3; turn++) {
        expect(await resultOf(talker.call("recall", { key: "k", handle }))).toEqual({ value: "v" });
      }
      const wrong = await talker
        .call("recall", { key: "k", handle: `${String(handle).slice(0, -1)}-` })
        .result();
      expect(wrong).toMatchObject({ isError: true, content: [{ text: /unknown or has expired/ }] });
    });
  });

  test("the requests were spread over all of them", () => {
    const counts = group.members.map(({ port }) => group.balancer.sent.get(port) ?? 0);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThan(10);
    for (const { program } of group.members)
      expect(program.stderr).not.toContain(`"level":"error"`);
  });
});

/** What the tool gave back, as JSON. */
async function resultOf(call: Talk): Promise<JsonObject> {
  const value: unknown = JSON.parse(await call.text());
  if (!isObject(value)) throw new Error(`no object: ${JSON.stringify(value)}`);
  return value;
}

function answering({ requestState }: JsonObject, key: string, answer: string): JsonObject {
  return {
    inputResponses: { [key]: { action: "accept", content: { answer } } },
    requestState,
  };
}

function steps(messages: readonly JsonObject[]): unknown[] {
  return messages
    .filter(({ method }) => method === "notifications/progress")
    .map(({ params }) => (isObject(params) ? params["progress"] : undefined));
}
