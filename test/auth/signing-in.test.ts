/** Clients of ours where users sign in with a real authorization server, in every revision. */
import { MemoryVerdicts } from "anyrev/client";
import { loopbackSignIn, oauth } from "anyrev/client/auth";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { connect as connectByFetch } from "../../src/client/connect.ts";
import { connect } from "../support/connecting.ts";
import { asUser, connectAs, openGuarded, principalOf, textOf } from "../support/guarded.ts";
import { handshakes } from "../support/matrix.ts";
import { openSignIn, type SignIn } from "../support/sign-in.ts";
import { revisions } from "../support/wire.ts";

let issuing: SignIn;

beforeAll(async () => {
  // It says on the console what a production server would have to change.
  for (const method of ["log", "info", "warn", "error"] as const) {
    vi.spyOn(console, method).mockImplementation(() => undefined);
  }
  issuing = await openSignIn();
});

afterAll(async () => {
  await issuing[Symbol.asyncDispose]();
  vi.restoreAllMocks();
});

describe.each(revisions)("in %s, a client", (revision) => {
  it.each(["node", "fetch"] as const)(
    "signs in when it is asked to, and asks for more when it has to, over %s",
    async (way) => {
      await using guarded = await openGuarded(issuing);
      issuing.asked.length = 0;
      const auth = asUser(issuing);
      const options = { revisions: revision, auth, verdicts: new MemoryVerdicts() };
      await using client =
        way === "node"
          ? await connectAs(guarded.url, revision, auth)
          : await connectByFetch(guarded.url, options);
      expect(await principalOf(client)).toMatchObject({
        issuer: issuing.issuer,
        subject: "ada",
        scopes: ["read"],
      });
      expect(textOf(await client.call("write_note", {}))).toBe("kept");
      expect(await principalOf(client)).toMatchObject({ scopes: ["read", "write"] });
      const scopes = issuing.asked.map(({ searchParams }) => searchParams.get("scope"));
      expect(scopes).toEqual(["read offline_access", "read offline_access write"]);
    },
  );
});

it.each(handshakes)("in %s, a client signs in over HTTP+SSE too", async (revision) => {
  await using guarded = await openGuarded(issuing, { legacySse: true });
  const verdicts = new MemoryVerdicts();
  const url = new URL("/sse", guarded.url);
  verdicts.set(url.href, { revision, legacySse: true });
  await using client = await connectAs(url.href, revision, asUser(issuing), { verdicts });
  expect(await principalOf(client)).toMatchObject({ subject: "ada" });
  expect(guarded.routes).toEqual(["GET false", "GET true"]);
});

it.each(handshakes)(
  "a client that signs in finds out that a server speaks %s alone",
  async (revision) => {
    await using guarded = await openGuarded(issuing, { revisions: [revision] });
    await using client = await connect(guarded.url, { auth: asUser(issuing) });
    expect(client.server.revision).toBe(revision);
    expect(await principalOf(client)).toMatchObject({ subject: "ada" });
  },
);

it("over HTTP+SSE too, the time that a user takes is no server's", async () => {
  await using guarded = await openGuarded(issuing, { legacySse: true });
  const verdicts = new MemoryVerdicts();
  const url = new URL("/sse", guarded.url).href;
  verdicts.set(url, { revision: "2024-11-05", legacySse: true });
  const authorize: SignIn["browse"] = async (page, options) => {
    await new Promise((resolve) => setTimeout(resolve, 600));
    return issuing.browse(page, options);
  };
  const times = { verdicts, timeoutMs: 300, openTimeoutMs: 200 };
  const auth = asUser(issuing, { authorize });
  await using client = await connectAs(url, "2024-11-05", auth, times);
  expect(await principalOf(client)).toMatchObject({ subject: "ada" });
});

it("a user of a command line comes back to a port of this machine", async () => {
  await using guarded = await openGuarded(issuing);
  const printed: string[] = [];
  const pages: string[] = [];
  const loopback = loopbackSignIn({
    print: (text) => printed.push(text),
    open: async (url) => {
      const response = await fetch(await issuing.browse(url));
      pages.push(await response.text());
    },
  });
  const auth = oauth({ ...loopback });
  await using client = await connectAs(guarded.url, "2026-07-28", auth);
  expect(await principalOf(client)).toMatchObject({ subject: "ada" });
  expect(textOf(await client.call("write_note", {}))).toBe("kept");
  expect(printed).toHaveLength(2);
  await vi.waitFor(() => expect(pages).toHaveLength(2));
  for (const page of pages) expect(page).toContain("You are signed in.");
});

it("each route carries the token: what opens a stream, and what ends a session", async () => {
  await using guarded = await openGuarded(issuing);
  const client = await connectAs(guarded.url, "2025-11-25", asUser(issuing));
  await client.listen({ lists: ["tools"] }, () => undefined);
  await vi.waitFor(() => expect(guarded.routes).toEqual(["GET true"]));
  await client.close();
  expect(guarded.routes).toEqual(["GET true", "DELETE true"]);
});

it("a stream that is opened with a token that is no good any more is opened again", async () => {
  await using guarded = await openGuarded(issuing);
  await using client = await connectAs(guarded.url, "2025-11-25", asUser(issuing));
  guarded.revoked.add(guarded.seen.at(-1) ?? "");
  await client.listen({ lists: ["tools"] }, () => undefined);
  await vi.waitFor(() => expect(guarded.routes).toEqual(["GET true", "GET true"]));
  expect(guarded.seen.at(-1)).not.toBe(guarded.seen.at(-2));
});

it("the end of a session is no reason to ask a user", async () => {
  await using guarded = await openGuarded(issuing);
  const client = await connectAs(guarded.url, "2025-11-25", asUser(issuing));
  const asked = issuing.asked.length;
  guarded.revoked.add(guarded.seen.at(-1) ?? "");
  await client.close();
  expect(guarded.routes).toEqual(["DELETE true"]);
  expect(issuing.asked).toHaveLength(asked);
});
