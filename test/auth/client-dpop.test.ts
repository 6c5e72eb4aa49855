/** Tokens that are bound to a key: each exchange comes with a proof that holds for it alone. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { MemoryTokens } from "anyrev/client/auth";
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import { connect } from "../support/connecting.ts";
import type { FakeRequest } from "../support/fake-http.ts";
import { FakeIssuer } from "../support/fake-issuer.ts";

const granted = { access_token: "a-token", token_type: "DPoP", refresh_token: "r" };

interface Proof {
  readonly jti: string;
  readonly htm: string;
  readonly htu: string;
  readonly ath: string | undefined;
  readonly nonce: string | undefined;
  readonly key: string;
}

async function readProof({ dpop }: IncomingHttpHeaders): Promise<Proof> {
  const { payload, protectedHeader } = await jwtVerify(String(dpop), EmbeddedJWK, {
    typ: "dpop+jwt",
    algorithms: ["ES256"],
    maxTokenAge: 10,
  });
  const { jti = "", htm, htu, ath, nonce } = payload as Record<string, string | undefined>;
  const key = await calculateJwkThumbprint(protectedHeader.jwk as JWK);
  return { jti, htm: htm ?? "", htu: htu ?? "", ath, nonce, key };
}

const proofsOf = (requests: readonly FakeRequest[]): Promise<Proof[]> =>
  Promise.all(
    requests.filter(({ headers }) => "dpop" in headers).map(({ headers }) => readProof(headers)),
  );

const open = (fake: FakeIssuer, options = {}) =>
  connect(fake.url, { auth: fake.auth({ dpop: true, ...options }), revisions: "2026-07-28" });

describe("a client whose tokens are to be bound", () => {
  it("proves for each exchange, once, that it holds the key", async () => {
    await using fake = await FakeIssuer.open((each) => {
      each.faking.token = () => ({ body: granted });
    });
    await using client = await open(fake);
    for (let round = 0; round < 3; round++) await client.call("anything", {});
    const proofs = await proofsOf(fake.server.requests);
    const [forToken] = await proofsOf(fake.issuing.requests);
    expect(proofs).toHaveLength(4);
    const ath = createHash("sha256").update("a-token").digest("base64url");
    for (const { htm, htu, ath: hash, key } of proofs) {
      expect([htm, htu, hash, key]).toEqual(["POST", fake.url, ath, forToken?.key]);
    }
    expect(new Set(proofs.map(({ jti }) => jti)).size).toBe(4);
    expect(fake.asked[0]?.searchParams.get("dpop_jkt")).toBe(forToken?.key);
    const schemes = fake.server.requests.map(({ headers }) => headers.authorization);
    expect(schemes.filter((each) => each !== undefined)).toEqual(Array(4).fill("DPoP a-token"));
  });

  it("takes up the nonces that both servers give, one after the other", async () => {
    await using fake = await FakeIssuer.open();
    let count = 0;
    fake.faking.token = (_form, { headers }) => {
      count++;
      return count > 1 && headers.dpop !== undefined
        ? { body: granted }
        : {
            status: 400,
            headers: { "dpop-nonce": "of-the-issuer" },
            body: { error: "use_dpop_nonce" },
          };
    };
    let served = 0;
    fake.faking.serve = (_token, _request, response) => {
      served++;
      response.setHeader("dpop-nonce", `of-the-server-${served}`);
      if (served > 1) return false;
      response.writeHead(401, { "www-authenticate": 'DPoP error="use_dpop_nonce"' }).end();
      return true;
    };
    await using client = await open(fake);
    await client.call("anything", {});
    const nonces = async (requests: readonly FakeRequest[]) =>
      (await proofsOf(requests)).map(({ nonce }) => nonce);
    expect(await nonces(fake.issuing.requests)).toEqual([undefined, "of-the-issuer"]);
    expect(await nonces(fake.server.requests)).toEqual([
      undefined,
      "of-the-server-1",
      "of-the-server-2",
    ]);
    expect(fake.asked).toHaveLength(1);
  });

  it("proves anew for the URL that it is sent on to", async () => {
    await using fake = await FakeIssuer.open((each) => {
      each.faking.token = () => ({ body: granted });
    });
    await using client = await open(fake);
    fake.faking.serve = (_token, { path }, response) => {
      if (path === "/mcp") response.writeHead(308, { location: "/mcp?moved" }).end();
      return path === "/mcp";
    };
    await client.call("anything", {});
    const [before, after] = (await proofsOf(fake.server.requests)).slice(-2);
    expect(after?.jti).not.toBe(before?.jti);
  });

  it("takes none that are not", async () => {
    await using fake = await FakeIssuer.open();
    await expect(open(fake)).rejects.toThrow("does not bind tokens to a key");
  });

  it("has a key of its own where the server asks for that", async () => {
    await using fake = await FakeIssuer.open((each) => {
      const path = "/.well-known/oauth-protected-resource/mcp";
      const resource = each.resource({ dpop_bound_access_tokens_required: true });
      each.faking.serverDocuments[path] = resource;
      each.faking.token = () => ({ body: granted });
    });
    await using client = await open(fake, { dpop: undefined });
    await client.call("anything", {});
    expect(await proofsOf(fake.server.requests)).toHaveLength(2);
  });

  it("uses what is kept with the same key, and with no other", async () => {
    await using fake = await FakeIssuer.open((each) => {
      each.faking.token = () => ({ body: granted });
    });
    const store = new MemoryTokens();
    const pair = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, [
      "sign",
      "verify",
    ]);
    for (const dpop of [pair, pair, true]) {
      await using client = await open(fake, { dpop, store });
      await client.call("anything", {});
    }
    expect(fake.asked).toHaveLength(2);
  });
});
