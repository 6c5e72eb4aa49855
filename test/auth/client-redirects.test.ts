/** What an authorization server says by a redirect: nothing that a client goes by. */
import type { ServerResponse } from "node:http";
import { expect, it } from "vitest";
import { connect } from "../support/connecting.ts";
import { FakeHttp } from "../support/fake-http.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const ways = [
  { by: "the guarded fetch", fetch: undefined },
  { by: "a fetch of its own", fetch: (url: URL, init: RequestInit) => fetch(url, init) },
];
const statuses = [301, 302, 303, 307, 308];
const each = ways.flatMap((way) => statuses.map((status) => ({ ...way, status })));

/** A server that is glad of anything that is sent to it. */
const openCollector = () =>
  FakeHttp.open((_, response) =>
    response.end(JSON.stringify({ access_token: "theirs", token_type: "Bearer", client_id: "x" })),
  );

const visit = async (fake: FakeIssuer, way: (typeof ways)[number]) => {
  const auth = fake.auth({ fetch: way.fetch });
  await using client = await connect(fake.url, { auth, revisions: "2026-07-28" });
  await client.call("anything", {});
};

it.each(each)("a code is sent nowhere by a $status, over $by", async ({ status, ...way }) => {
  await using collector = await openCollector();
  await using fake = await FakeIssuer.open();
  for (const location of [`${collector.url}/token`, "/other"]) {
    fake.faking.token = () => ({ status, headers: { location } });
    await expect(visit(fake, way)).rejects.toThrow(/^cannot sign in: /);
  }
  expect(fake.forms.length).toBe(2);
  expect(collector.requests).toEqual([]);
  expect(fake.issuing.requests.filter(({ path }) => path === "/other")).toEqual([]);
});

it.each(each)("a token is refreshed nowhere by a $status, over $by", async ({ status, ...way }) => {
  await using collector = await openCollector();
  let first = true;
  await using fake = await FakeIssuer.open();
  fake.faking.token = (form) =>
    form.get("grant_type") === "refresh_token"
      ? { status, headers: { location: `${collector.url}/token` } }
      : { body: { access_token: "old", token_type: "Bearer", refresh_token: "precious" } };
  fake.faking.serve = (token, request, response) => {
    if (token !== "old" || request.rpcMethod !== "tools/call" || !first) return false;
    first = false;
    response.writeHead(401, { "www-authenticate": "Bearer" }).end();
    return true;
  };
  await expect(visit(fake, way)).rejects.toThrow(/^cannot sign in: /);
  expect(fake.forms.map((form) => form.get("grant_type"))).toContain("refresh_token");
  expect(collector.requests).toEqual([]);
});

it.each(each)("a client registers nowhere by a $status, over $by", async ({ status, ...way }) => {
  await using collector = await openCollector();
  await using fake = await FakeIssuer.open();
  fake.faking.register = () => ({ status, headers: { location: `${collector.url}/register` } });
  await expect(visit(fake, way)).rejects.toThrow(`could not be registered: HTTP ${status}`);
  expect(collector.requests).toEqual([]);
});

it.each(each)("a document is read nowhere by a $status, over $by", async ({ status, ...way }) => {
  await using collector = await openCollector();
  await using fake = await FakeIssuer.open();
  const moved = (to: ServerResponse) => to.writeHead(status, { location: collector.url }).end();
  const document = fake.faking.issuerDocuments["/.well-known/oauth-authorization-server"];
  fake.faking.issuerDocuments = {
    "/.well-known/oauth-authorization-server": moved,
    "/.well-known/openid-configuration": document,
  };
  await visit(fake, way);
  fake.faking.serverDocuments["/.well-known/oauth-protected-resource/mcp"] = moved;
  fake.faking.serverDocuments["/.well-known/oauth-protected-resource"] = moved;
  // It is as if the server had none, which is then its own authorization server.
  await visit(fake, way);
  expect(collector.requests).toEqual([]);
});
