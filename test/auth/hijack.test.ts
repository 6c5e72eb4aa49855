/**
 * Ids in the wrong hands: whoever presents what belongs to another principal gets, to the byte,
 * what an id gets that was never given out; and the owner is not disturbed.
 */
import { setTimeout as delay } from "node:timers/promises";
import { MemorySessions } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { fixtureAuth } from "../../fixture/auth.ts";
import { createFixture } from "../../fixture/declare.ts";
import type { Holder } from "../support/as-principal.ts";
import { type BridgeName, bridges } from "../support/bridges.ts";
import { readEvents, type Worker } from "../support/live.ts";
import { notification } from "../support/messages.ts";
import { openAllRoutes, Person, type Seen } from "../support/seen.ts";
import { type Revision, revisions } from "../support/wire.ts";

const thieves: readonly Holder[] = ["bob", "mallory"];

interface Prey {
  /** What alice was given. */
  readonly id: string;
  /** As it could be, and never was. */
  readonly unknown: string;
  /** Presents an id. */
  present(by: Person, id: string): Promise<Seen>;
  /** Holds that nothing happened to it, by what its owner gets with a refreshed token. */
  unharmed(owner: Person): Promise<void>;
}

interface Kind {
  readonly what: string;
  readonly in: (revision: Revision) => boolean;
  readonly prey: (alice: Person) => Promise<Prey>;
}

const uuid = "00000000-0000-4000-8000-000000000000";
const isHandshake = (revision: Revision): boolean => revision !== "2026-07-28";

/** A session that is presented with something. */
function sessionKind(what: string, present: Prey["present"]): Kind {
  return {
    what: `the session ${what}`,
    in: isHandshake,
    prey: async (alice) => {
      await alice.call("remember", { key: "k", value: "hers" });
      return {
        id: String(alice.session),
        unknown: uuid,
        present,
        unharmed: async (owner) => {
          owner.session = alice.session;
          expect((await owner.call("recall", { key: "k" })).text).toContain("hers");
        },
      };
    },
  };
}

const withSession =
  (method: string, params: Record<string, unknown> = {}): Prey["present"] =>
  (by, session) =>
    by.see({ session, message: by.request(method, params) });

async function askingCall(alice: Person) {
  const prompt = { name: "test_sampling", arguments: { prompt: "say" } };
  const asked = await alice.until(
    alice.request("tools/call", prompt, "sampling"),
    ({ method }) => method === "sampling/createMessage",
  );
  const finish = async (owner: Person, id: unknown): Promise<void> => {
    const result = { role: "assistant", content: { type: "text", text: "right" }, model: "m" };
    owner.session = alice.session;
    expect((await owner.see({ message: { jsonrpc: "2.0", id, result } })).status).toBe(202);
    const { value } = await asked.events.next();
    expect(value?.data).toContain("LLM response: right");
  };
  return { ...asked, finish };
}

const kinds: readonly Kind[] = [
  sessionKind("of a request", withSession("tools/list")),
  sessionKind("of a call", withSession("tools/call", { name: "recall", arguments: { key: "k" } })),
  sessionKind("of a notification", (by, session) =>
    by.see({ session, message: notification("notifications/initialized") }),
  ),
  sessionKind("of an answer", (by, session) =>
    by.see({ session, message: { jsonrpc: "2.0", id: "x", result: {} } }),
  ),
  sessionKind("to listen to", (by, session) =>
    by.see({ method: "GET", session, headers: { accept: "text/event-stream" } }),
  ),
  sessionKind("to end", (by, session) => by.see({ method: "DELETE", session })),
  sessionKind("of a subscription", withSession("resources/subscribe", { uri: "test://hers" })),
  sessionKind("of its log", withSession("logging/setLevel", { level: "debug" })),
  {
    what: "a call in flight, to cancel",
    in: isHandshake,
    prey: async (alice) => {
      const call = { name: "echo", arguments: { text: "whole", delayMs: 400 } };
      const answer = alice.see({ message: alice.request("tools/call", call, 77) });
      await delay(50);
      const cancel = notification("notifications/cancelled", { requestId: 77 });
      return {
        id: String(alice.session),
        unknown: uuid,
        present: (by, session) => by.see({ session, message: cancel }),
        unharmed: async () => expect((await answer).text).toContain("whole"),
      };
    },
  },
  {
    what: "a question that was pushed",
    in: isHandshake,
    prey: async (alice) => {
      const { said, finish } = await askingCall(alice);
      const result = { role: "assistant", content: { type: "text", text: "wrong" }, model: "m" };
      return {
        id: String(said["id"]),
        unknown: `ask-${uuid}`,
        present: (by, id) => by.see({ message: { jsonrpc: "2.0", id, result } }),
        unharmed: (owner) => finish(owner, said["id"]),
      };
    },
  },
  {
    what: "an event of a stream",
    in: (revision) => isHandshake(revision) && revision !== "2024-11-05",
    prey: async (alice) => {
      const { id = "", said, finish } = await askingCall(alice);
      const accept = "text/event-stream";
      return {
        id,
        unknown: `${uuid}.${id.split(".")[1]}`,
        present: (by, last) =>
          by.see({ method: "GET", headers: { accept, "last-event-id": last } }),
        unharmed: async (owner) => {
          await finish(owner, said["id"]);
          const again = owner.begin({ method: "GET", headers: { accept, "last-event-id": id } });
          const { chunks } = await again.live;
          const { value } = await readEvents(chunks).next();
          expect(value?.data).toContain("right");
          again.drop();
        },
      };
    },
  },
  {
    what: "the state of a call",
    in: (revision) => revision !== "2025-06-18" && revision !== "2025-11-25",
    prey: async (alice) => {
      const questions = { first: "One?", second: "Two?" };
      const isModern = alice.isModern;
      const round = (by: Person, state: string): Promise<Seen> =>
        isModern
          ? by.call("ask_twice", questions, {
              requestState: state,
              inputResponses: { first: { action: "accept", content: { answer: "one" } } },
            })
          : by.call("ask_twice", { ...questions, _state: state, _answers: {} });
      const { text } = await alice.call("ask_twice", questions);
      const id =
        /(?:requestState\\?"|_state\\?")\s*:?\s*\\?"([A-Za-z0-9_-]{40,})/.exec(text)?.[1] ?? "";
      expect(id, text).not.toBe("");
      // Of the same length and alphabet, and never sealed.
      const unknown = id.replace(/.{20}$/, "A".repeat(20));
      return {
        id,
        unknown,
        present: round,
        unharmed: async (owner) => {
          const { text: said } = await round(owner, id);
          expect(said).toContain(isModern ? "Two?" : "One?");
        },
      };
    },
  },
  {
    what: "a handle",
    in: () => true,
    prey: async (alice) => {
      const session = alice.session;
      // With a session the fixture gives none out, and takes one all the same.
      const modern = new Person(alice.worker, "alice", "2026-07-28");
      const { text } = await modern.call("remember", { key: "k", value: "hers" });
      const handle = /h_[\w-]{32}/.exec(text)?.[0] ?? "";
      return {
        id: handle,
        unknown: `h_${"A".repeat(32)}`,
        present: (by, id) => by.call("recall", { key: "k", handle: id }),
        unharmed: async (owner) => {
          owner.session = session;
          expect((await owner.call("recall", { key: "k", handle })).text).toContain("hers");
        },
      };
    },
  },
  {
    what: "a stream of HTTP+SSE",
    in: isHandshake,
    prey: async (alice) => {
      const begun = alice.begin({
        method: "GET",
        path: "/sse",
        session: "-",
        headers: { accept: "text/event-stream" },
      });
      const { chunks } = await begun.live;
      const events = readEvents(chunks);
      const { value } = await events.next();
      const id = /sessionId=(.*)$/.exec(value?.data ?? "")?.[1] ?? "";
      const present = (by: Person, sessionId: string): Promise<Seen> =>
        by.see({
          path: "/messages",
          query: `sessionId=${sessionId}`,
          message: by.request("ping", {}, by.holder),
        });
      return {
        id,
        unknown: uuid,
        present,
        unharmed: async (owner) => {
          expect((await present(owner, id)).status).toBe(202);
          // The first thing that is heard is the answer to its owner.
          expect((await events.next()).value?.data).toContain('"id":"aliceAgain"');
          begun.drop();
        },
      };
    },
  },
  {
    what: "a tool that is there for its owner alone",
    in: () => true,
    prey: () =>
      Promise.resolve({
        id: "hers",
        unknown: "none",
        present: (by, name) => by.call(name),
        unharmed: async (owner) => expect((await owner.open()).holder).toBe("aliceAgain"),
      }),
  },
  ...(
    [
      "resources/read",
      "prompts/get",
      "completion/complete",
      "completion/complete of a template",
    ] as const
  ).map(
    (what): Kind => ({
      what: `${what} of what is there for its owner alone`,
      in: () => true,
      prey: (alice) => {
        const present = (by: Person, name: string): Promise<Seen> => {
          const argument = { name: "of", value: "h" };
          const params = {
            "resources/read": { uri: `test://${name}` },
            "prompts/get": { name },
            "completion/complete": { ref: { type: "ref/prompt", name }, argument },
            "completion/complete of a template": {
              ref: { type: "ref/resource", uri: `test://${name}/{id}` },
              argument: { name: "id", value: "" },
            },
          }[what];
          return by.see({ message: by.request(what.split(" ")[0] ?? "", params) });
        };
        return Promise.resolve({
          id: "hers",
          unknown: "none",
          present,
          unharmed: async () => {
            const { text, status } = await present(alice, "hers");
            expect([status, text]).toEqual([200, expect.stringContaining('"result"')]);
          },
        });
      },
    }),
  ),
];

/** As it would be with the one id in place of the other. */
function without(seen: Seen, id: string): Seen {
  return JSON.parse(JSON.stringify(seen).replaceAll(id, "ID"));
}

async function rob(worker: Worker, kind: Kind, revision: Revision): Promise<void> {
  const alice = await new Person(worker, "alice", revision).open();
  const prey = await kind.prey(alice);
  for (const holder of thieves) {
    const thief = new Person(worker, holder, revision);
    await thief.open();
    const asUnknown = without(await prey.present(thief, prey.unknown), prey.unknown);
    const asStolen = without(await prey.present(thief, prey.id), prey.id);
    const { "content-length": _, ...headers } = asStolen.headers;
    const { "content-length": __, ...unknownHeaders } = asUnknown.headers;
    expect({ ...asStolen, headers }, holder).toEqual({ ...asUnknown, headers: unknownHeaders });
    expect(asStolen.text).not.toContain("hers");
  }
  const again = new Person(worker, "aliceAgain", revision);
  again.session = alice.session;
  await prey.unharmed(again);
}

const all = kinds.flatMap((kind) =>
  revisions.filter(kind.in).map((revision) => ({ what: kind.what, kind, revision })),
);

async function open(name: BridgeName): Promise<Worker> {
  const server = createFixture({ restricted: true, log: () => undefined });
  return openAllRoutes(name, server, { auth: fixtureAuth });
}

it("there are twelve kinds of id at least", () => {
  expect(new Set(kinds.map(({ what }) => what)).size).toBeGreaterThanOrEqual(12);
});

describe.each(bridges)("over the %s bridge", (name) => {
  it.each(all)("R049: $what in $revision is unknown to others", async ({ kind, revision }) => {
    await using worker = await open(name);
    await rob(worker, kind, revision);
  });

  it("R049: a session that others ask for expires as if nobody had", async () => {
    let now = 0;
    const sessionStore = new MemorySessions({ ttlMs: 1_000, now: () => now });
    const server = createFixture({ log: () => undefined });
    await using worker = await openAllRoutes(name, server, { auth: fixtureAuth, sessionStore });
    const alice = await new Person(worker, "alice", "2025-11-25").open();
    const ask = async (holder: Holder) => {
      const person = new Person(worker, holder, "2025-11-25");
      person.session = alice.session;
      return (await person.see({ message: person.request("tools/list") })).status;
    };
    now = 600;
    expect(await ask("bob")).toBe(404);
    now = 1_200;
    expect(await ask("alice")).toBe(404);
  });

  it.each(revisions.filter(isHandshake))(
    "R048: in %s a session outlives the token that it was opened with",
    async (revision) => {
      await using worker = await open(name);
      const alice = await new Person(worker, "alice", revision).open();
      const again = new Person(worker, "aliceAgain", revision);
      again.session = alice.session;
      expect((await again.see({ message: again.request("tools/list") })).status).toBe(200);
      expect((await again.see({ method: "DELETE" })).status).toBe(204);
      expect((await alice.see({ message: alice.request("tools/list") })).status).toBe(404);
    },
  );
});
