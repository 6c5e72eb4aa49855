/** Where a fetch for URLs that strangers name lets itself be led, over real TLS. */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { expect, test, vi } from "vitest";
import {
  type GuardedFetchError,
  type GuardedFetchOptions,
  guardedFetch,
} from "../../src/node/guarded-fetch.ts";
import { certificate, openTls } from "../support/tls.ts";

const trusted = vi.hoisted(() => ({ isTrusted: true }));

// The machine's certificates and its network: the test's own certificate is trusted, and what is
// connected to is this machine, whatever public address was judged. All else is as it is.
vi.mock("node:https", async (importOriginal) => {
  const original = await importOriginal<typeof import("node:https")>();
  const request = (url: URL, options: object) =>
    original.request(url, {
      ...options,
      ...(trusted.isTrusted ? { ca: certificate } : {}),
      ...(url.hostname.endsWith(".test")
        ? {
            lookup: ((_, __, found) =>
              found(null, [{ address: "127.0.0.1", family: 4 }])) satisfies LookupFunction,
          }
        : {}),
    });
  return { ...original, request };
});

/** What a name leads to, as far as it is judged. */
const resolve = async (host: string) => {
  if (host === "localhost") return ["127.0.0.1"];
  return host.endsWith(".test") ? ["8.8.8.8"] : ["10.0.0.1"];
};
const local: GuardedFetchOptions = { allowLoopback: true, resolve };

const send = (url: string, init: RequestInit = {}, options = local) =>
  guardedFetch(options)(new URL(url), init);

const failureOf = (sent: Promise<Response>): Promise<GuardedFetchError> =>
  sent.then(
    () => expect.fail("it was fetched"),
    (cause) => cause,
  );

async function readText(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return text;
}

/** Tells what it gets, and leads on to wherever the path says. */
const open = () =>
  openTls(async (request, response) => {
    const url = new URL(request.url ?? "/", "https://x");
    const to = url.searchParams.get("to");
    if (to !== null) {
      response.writeHead(Number(url.searchParams.get("status") ?? 302), { location: to }).end();
      return;
    }
    const { method, headers } = request;
    response.end(JSON.stringify({ method, headers, body: await readText(request) }));
  });

const leading = (from: string, to: string, status = 302) =>
  `${from}/?status=${status}&to=${encodeURIComponent(to)}`;

interface Told {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const told = async (sent: Promise<Response>) => (await (await sent).json()) as Told;

const personal = {
  authorization: "Bearer s",
  cookie: "s=1",
  dpop: "proof",
  "proxy-authorization": "Basic s",
};

test("a certificate is looked at: that of another name, or that nobody vouches for, is none", async () => {
  await using server = await open();
  expect((await send(`https://localhost:${server.port}/`)).status).toBe(200);
  expect((await send(`https://here.test:${server.port}/`)).status).toBe(200);
  for (const host of ["127.0.0.1", "other.test"]) {
    const failure = await failureOf(send(`https://${host}:${server.port}/`));
    expect([failure.kind, failure.message]).toEqual([
      "unreachable",
      `https://${host}:${server.port} could not be asked`,
    ]);
    expect(failure.cause).toMatchObject({ code: "ERR_TLS_CERT_ALTNAME_INVALID" });
  }
  trusted.isTrusted = false;
  try {
    const failure = await failureOf(send(`https://localhost:${server.port}/`));
    expect(failure.kind).toBe("unreachable");
  } finally {
    trusted.isTrusted = true;
  }
  expect(server.asked.length).toBe(2);
});

test.each([301, 302, 303, 307, 308])(
  "%d from https to http is followed nowhere",
  async (status) => {
    const seen: unknown[] = [];
    const plain = createServer((request, response) => {
      seen.push(request.url);
      response.end();
    });
    plain.listen(0, "127.0.0.1");
    await once(plain, "listening");
    const { port } = plain.address() as AddressInfo;
    await using server = await open();
    try {
      for (const host of ["localhost", "here.test"]) {
        for (const to of [`http://localhost:${port}/x`, `http://${host}:${port}/x`]) {
          for (const method of ["GET", "HEAD", "POST"]) {
            const url = leading(`https://${host}:${server.port}`, to, status);
            const failure = await failureOf(send(url, { method }));
            expect(failure.message).toBe(`https://${host}:${server.port} leads away from https`);
            expect(failure.kind).toBe("redirect");
          }
        }
      }
    } finally {
      plain.close();
    }
    expect(seen).toEqual([]);
  },
);

test("nothing personal goes to another origin, nor comes back with it", async () => {
  await using one = await open();
  await using other = await open();
  const first = `https://here.test:${one.port}`;
  const second = `https://there.test:${other.port}`;
  for (const status of [301, 302, 303, 307, 308]) {
    const there = leading(first, `${second}/end`, status);
    const back = leading(first, leading(second, `${first}/end`, status), status);
    for (const url of [there, back]) {
      const { headers } = await told(send(url, { headers: personal }));
      for (const name of Object.keys(personal)) expect(headers).not.toHaveProperty(name);
    }
  }
  expect(other.asked.every((asked) => asked.startsWith(`there.test:${other.port}/`))).toBe(true);
  const kept = await told(send(leading(first, "/end", 307), { headers: personal }));
  expect(kept.headers).toMatchObject(personal);
});

test("another port, and another name, are other origins", async () => {
  await using one = await open();
  await using other = await open();
  const from = `https://here.test:${one.port}`;
  for (const to of [`https://here.test:${other.port}/`, `https://there.test:${one.port}/`]) {
    const { headers } = await told(send(leading(from, to), { headers: personal }));
    expect(headers).not.toHaveProperty("authorization");
  }
});

test("a host header of the caller's own goes nowhere", async () => {
  await using server = await open();
  const url = `https://here.test:${server.port}/`;
  await send(url, { headers: { host: "inside.test" } });
  expect(server.asked).toEqual([`here.test:${server.port}/`]);
});

test.each([307, 308])("a body is not sent again to another origin, by %d", async (status) => {
  await using one = await open();
  await using other = await open();
  const from = `https://here.test:${one.port}`;
  const to = `https://there.test:${other.port}`;
  for (const init of [
    { method: "POST", body: "secret=1" },
    { method: "POST", body: new URLSearchParams({ secret: "1" }) },
    { method: "PUT", body: new Uint8Array([1]) },
    { method: "DELETE" },
  ]) {
    const failure = await failureOf(send(leading(from, to, status), init));
    expect([failure.name, failure.kind]).toEqual(["GuardedFetchError", "redirect"]);
    expect(failure.message).toBe(
      `${from} leads on to ${to}, where a ${init.method} is not sent again`,
    );
  }
  expect(other.asked).toEqual([]);
  const again = await send(leading(from, "/end", status), { method: "POST", body: "mine" });
  expect(await again.json()).toMatchObject({ method: "POST", body: "mine" });
});

test.each([301, 302, 303])("what becomes a GET by %d leaves its body behind", async (status) => {
  await using one = await open();
  await using other = await open();
  const url = leading(`https://here.test:${one.port}`, `https://there.test:${other.port}/`, status);
  const headers = { "content-type": "text/plain", "content-language": "en" };
  const answer = await told(send(url, { method: "POST", body: "secret", headers }));
  expect(answer).toMatchObject({ method: "GET", body: "" });
  expect(answer.headers).not.toHaveProperty("content-type");
  expect(answer.headers).not.toHaveProperty("content-language");
  expect(answer.headers).not.toHaveProperty("content-length");
});

test.each([301, 302])("what %d does not make a GET is not sent elsewhere", async (status) => {
  await using one = await open();
  await using other = await open();
  const url = leading(`https://here.test:${one.port}`, `https://there.test:${other.port}/`, status);
  const failure = await failureOf(send(url, { method: "PUT", body: "secret" }));
  expect(failure.kind).toBe("redirect");
  expect(other.asked).toEqual([]);
});

test("each step is judged anew, and this machine is not come back to from elsewhere", async () => {
  await using server = await open();
  const here = `https://localhost:${server.port}`;
  const away = `https://here.test:${server.port}`;
  expect((await send(leading(here, leading(away, `${away}/end`)))).status).toBe(200);
  for (const to of [`${here}/end`, `https://127.0.0.1:${server.port}/end`, "https://10.0.0.1/"]) {
    for (const from of [leading(away, to), leading(here, leading(away, to))]) {
      expect((await failureOf(send(from))).kind).toBe("address");
    }
  }
  expect((await failureOf(send(leading(away, "https://inside.example/")))).kind).toBe("address");
  expect((await failureOf(send(leading(away, "https://me:it@here.test/")))).kind).toBe("url");
});

test("says which it was: too many, or any at all", async () => {
  await using server = await open();
  const url = leading(`https://localhost:${server.port}`, "/?to=/end");
  const said = async (init: RequestInit, options = local) =>
    (await failureOf(send(url, init, options))).message.replace(/^\S+ /, "");
  expect(await said({}, { ...local, maxRedirects: 1 })).toBe("leads on more than 1 times");
  expect(await said({ redirect: "error" })).toBe("leads on, which is not to be followed");
});
