/** What a client does with its tokens: it refreshes, keeps and guards them. */
import type { ConnectOptions } from "anyrev/client";
import { clientCredentials, MemoryTokens } from "anyrev/client/auth";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  asUser,
  connectAs,
  type Guarded,
  openGuarded,
  principalOf,
  textOf,
} from "../support/guarded.ts";
import { openSignIn, type SignIn } from "../support/sign-in.ts";
import type { Revision } from "../support/wire.ts";

const machine = { client_id: "robot-1", client_secret: "the secret: of_a robot/+%" };

let issuing: SignIn;
let quick: SignIn;

beforeAll(async () => {
  // It says on the console what a production server would have to change.
  for (const method of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation(() => undefined);
  }
  const robot = {
    ...machine,
    grant_types: ["client_credentials"],
    redirect_uris: [],
    response_types: [],
  };
  issuing = await openSignIn({ clients: [robot] });
  quick = await openSignIn({ ttlSeconds: 2 });
});

beforeEach(() => {
  for (const each of [issuing, quick]) {
    each.asked.length = 0;
    each.done.length = 0;
  }
});

afterAll(async () => {
  await issuing[Symbol.asyncDispose]();
  await quick[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

const last = ({ seen }: Guarded): string => seen.at(-1) ?? "";

describe.each(["2026-07-28", "2025-11-25"] as const)("in %s", (revision) => {
  it("a token that is no good any more is refreshed, by however many calls at once, once", async () => {
    await using guarded = await openGuarded(issuing);
    await using client = await connectAs(guarded.url, revision, asUser(issuing));
    const session = await client.call("whoami", {});
    guarded.revoked.add(last(guarded));
    const all = await Promise.all(Array.from({ length: 20 }, () => client.call("whoami", {})));
    for (const each of all) {
      const { principal, session: same } = JSON.parse(textOf(each));
      expect(principal.subject).toBe("ada");
      expect(same).toBe(JSON.parse(textOf(session)).session);
    }
    expect(issuing.done).toEqual(["register", "authorization_code", "refresh_token"]);
    expect(issuing.asked).toHaveLength(1);
  });

  it("a token that is about to end is refreshed before the server has to refuse it", async () => {
    await using guarded = await openGuarded(quick);
    await using client = await connectAs(guarded.url, revision, asUser(quick));
    const first = last(guarded);
    const refused = guarded.seen.filter((token) => token === "").length;
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    await Promise.all([principalOf(client), principalOf(client), principalOf(client)]);
    expect(last(guarded)).not.toBe(first);
    expect(quick.done).toEqual(["register", "authorization_code", "refresh_token"]);
    expect(guarded.seen.filter((token) => token === "")).toHaveLength(refused);
  });

  it("tokens that are kept outlive the client, and so does its registration", async () => {
    await using guarded = await openGuarded(issuing);
    const store = new MemoryTokens();
    for (let round = 0; round < 3; round++) {
      await using client = await connectAs(guarded.url, revision, asUser(issuing, { store }));
      expect(await principalOf(client)).toMatchObject({ subject: "ada" });
      if (round === 1) guarded.revoked.add(last(guarded));
    }
    expect(issuing.done).toEqual(["register", "authorization_code", "refresh_token"]);
    expect(issuing.asked).toHaveLength(1);
  });

  it("what a client was granted is refreshed as that client, whatever was registered since", async () => {
    await using first = await openGuarded(issuing);
    await using second = await openGuarded(issuing);
    let port = 41_000;
    const auth = asUser(issuing, { redirectUri: () => `http://127.0.0.1:${port++}/callback` });
    await using client = await connectAs(first.url, revision, auth);
    await using other = await connectAs(second.url, revision, auth);
    first.revoked.add(last(first));
    await principalOf(client);
    await principalOf(other);
    const signIn = ["register", "authorization_code"];
    expect(issuing.done).toEqual([...signIn, ...signIn, "refresh_token"]);
  });

  it("two clients of one user refresh for each other", async () => {
    await using guarded = await openGuarded(issuing);
    const store = new MemoryTokens();
    await using one = await connectAs(guarded.url, revision, asUser(issuing, { store }));
    await using other = await connectAs(guarded.url, revision, asUser(issuing, { store }));
    await principalOf(other);
    guarded.revoked.add(last(guarded));
    await principalOf(one);
    expect(await principalOf(other)).toMatchObject({ subject: "ada" });
    expect(issuing.done).toEqual(["register", "authorization_code", "refresh_token"]);
  });

  it("where refreshing is no good either, the user is asked once more", async () => {
    await using guarded = await openGuarded(issuing);
    const store = new MemoryTokens();
    const auth = asUser(issuing, { store });
    await using client = await connectAs(guarded.url, revision, auth);
    await principalOf(client);
    const name = `tokens for ${guarded.url}`;
    const kept = JSON.parse(store.get(name) ?? "{}");
    store.set(name, JSON.stringify({ ...kept, issuedAt: kept.issuedAt + 1, refresh: "made up" }));
    guarded.revoked.add(last(guarded));
    await Promise.all([principalOf(client), principalOf(client)]);
    expect(issuing.done).toEqual(["register", "authorization_code", "authorization_code"]);
  });
});

it("whoever signs in may be another, and whoever refreshes is the same", async () => {
  await using guarded = await openGuarded(issuing);
  const auth = asUser(issuing);
  await using client = await connectAs(guarded.url, "2026-07-28", auth);
  const first = auth.context?.();
  guarded.revoked.add(last(guarded));
  await principalOf(client);
  expect(auth.context?.()).toBe(first);
  expect(textOf(await client.call("write_note", {}))).toBe("kept");
  expect(auth.context?.()).not.toBe(first);
});

describe("a program that acts for itself", () => {
  const auth = (): ConnectOptions["auth"] =>
    clientCredentials({
      client: {
        clientId: machine.client_id,
        secret: machine.client_secret,
        issuer: issuing.issuer,
      },
    });

  it("gets a token with its secret, and another when that is no good any more", async () => {
    await using guarded = await openGuarded(issuing);
    await using client = await connectAs(guarded.url, "2026-07-28", auth());
    expect(await principalOf(client)).toMatchObject({ client: "robot-1", scopes: ["read"] });
    expect(textOf(await client.call("write_note", {}))).toBe("kept");
    guarded.revoked.add(last(guarded));
    expect(await principalOf(client)).toMatchObject({ scopes: ["read", "write"] });
    expect(issuing.done).toEqual(Array(3).fill("client_credentials"));
    expect(issuing.asked).toEqual([]);
  });

  it("declares that it takes part in that, where the revision has a place for it", async () => {
    await using guarded = await openGuarded(issuing);
    const declared = async (revision: Revision) => {
      await using client = await connectAs(guarded.url, revision, auth());
      return JSON.parse(textOf(await client.call("whoami", {}))).capabilities;
    };
    expect(await declared("2026-07-28")).toContain("extensions");
    expect(await declared("2025-11-25")).not.toContain("extensions");
  });

  it("tells no other authorization server than the one that knows it", async () => {
    await using other = await openSignIn();
    await using guarded = await openGuarded(other);
    await expect(connectAs(guarded.url, "2026-07-28", auth())).rejects.toMatchObject({
      kind: "unauthorized",
      status: 401,
      message: expect.stringContaining(`the server now names ${other.issuer}`),
    });
    expect(other.done).toEqual([]);
  });
});

it("a store of tokens keeps the latest, and no more than it is told to", () => {
  const store = new MemoryTokens({ maxEntries: 2 });
  store.set("a", "1");
  store.set("b", "2");
  store.get("a");
  store.set("c", "3");
  expect(["a", "b", "c"].map((name) => store.get(name))).toEqual(["1", undefined, "3"]);
  store.delete("a");
  expect(store.get("a")).toBeUndefined();
});
