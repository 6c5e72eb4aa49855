/** From the newest way over HTTP to the oldest, and what is remembered of it. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type ClientOptions, connect, MemoryVerdicts } from "anyrev/client";
import { createEndpoint, createLegacySse, type Server, toNodeHandler } from "anyrev/node";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { FakeHttp, refusal as refusalText, result, sendJson } from "../support/fake-http.ts";
import { discovery, initializeResult } from "../support/fake-peer.ts";
import { handshakes } from "../support/matrix.ts";
import { createTourServer } from "../support/tour-server.ts";
import { revisions } from "../support/wire.ts";

interface Served extends AsyncDisposable {
  readonly url: string;
  /** What was asked, as `POST /mcp`. */
  readonly asked: string[];
}

/** A server at one URL, in the way of its time: HTTP+SSE alone, or what came after it. */
async function serveAt(
  server: Server,
  how: { isOld: boolean; readonly revisions?: readonly string[] },
  refusing = 405,
): Promise<Served> {
  const legacy = createLegacySse(server, { path: "/mcp" });
  const endpoint = createEndpoint(server, { path: "/mcp", revisions: how.revisions });
  const old = toNodeHandler(legacy);
  const new_ = toNodeHandler(endpoint);
  const asked: string[] = [];
  const http = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split("?")[0]}`);
    if (!how.isOld) new_(request, response);
    else if (request.method === "POST" && request.url === "/mcp")
      response.writeHead(refusing).end();
    else old(request, response);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    asked,
    [Symbol.asyncDispose]: async () => {
      legacy.close();
      endpoint.close();
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
}

/** Connects, calls, closes. @returns the revision that was spoken. */
async function visit(url: string, options: ClientOptions): Promise<string> {
  const client = await connect(url, options);
  try {
    expect((await client.call("echo", { text: "here" })).text).toBe("here");
    return client.server.revision;
  } finally {
    await client.close();
  }
}

describe("a server that has only HTTP+SSE", () => {
  test.each([400, 404, 405])("and refuses to be posted to with %d is spoken to", async (status) => {
    const { server } = createTourServer();
    await using served = await serveAt(server, { isOld: true }, status);
    const verdicts = new MemoryVerdicts();
    expect(await visit(served.url, { verdicts })).toBe("2025-11-25");
    expect(served.asked.slice(0, 3)).toEqual(["POST /mcp", "POST /mcp", "GET /mcp"]);
    expect(verdicts.get(served.url)).toEqual({ revision: "2025-11-25", legacySse: true });
    served.asked.length = 0;
    expect(await visit(served.url, { verdicts })).toBe("2025-11-25");
    expect(served.asked[0]).toBe("GET /mcp");
    expect(served.asked).not.toContain("POST /mcp");
  });

  test.each(handshakes)("is spoken to in %s", async (revision) => {
    const { server } = createTourServer();
    await using served = await serveAt(server, { isOld: true });
    const verdicts = new MemoryVerdicts();
    expect(await visit(served.url, { verdicts, revisions: revision })).toBe(revision);
  });

  test("is not spoken to by whoever shakes no hands", async () => {
    const { server } = createTourServer();
    await using served = await serveAt(server, { isOld: true });
    const options = { verdicts: new MemoryVerdicts(), revisions: "2026-07-28" };
    expect(await refusal(connect(served.url, options))).toMatchObject({ status: 405 });
    expect(served.asked).toEqual(["POST /mcp"]);
  });

  test("and nothing else is found out anew once it is upgraded, and once it is downgraded", async () => {
    const { server } = createTourServer();
    const how = { isOld: true };
    await using served = await serveAt(server, how);
    const verdicts = new MemoryVerdicts();
    expect(await visit(served.url, { verdicts })).toBe("2025-11-25");
    how.isOld = false;
    expect(await visit(served.url, { verdicts })).toBe("2026-07-28");
    expect(verdicts.get(served.url)).toEqual({ revision: "2026-07-28" });
    how.isOld = true;
    expect(await visit(served.url, { verdicts })).toBe("2025-11-25");
    expect(verdicts.get(served.url)).toEqual({ revision: "2025-11-25", legacySse: true });
  });
});

describe("a server that is no server of this protocol", () => {
  test("says so once, whatever was tried", async () => {
    await using fake = await FakeHttp.open((_, response) =>
      response.writeHead(404, { "content-type": "text/html" }).end("<h1>Not Found</h1>"),
    );
    const failed = await refusal(connect(fake.url));
    expect(failed).toMatchObject({ kind: "http", status: 404 });
    expect(failed.message).toContain("Not Found");
    expect(fake.requests.map(({ method }) => method)).toEqual(["POST", "POST", "GET"]);
    await fake[Symbol.asyncDispose]();
    expect((await refusal(connect(fake.url))).kind).toBe("unreachable");
  });
});

describe("our own server over HTTP", () => {
  test.each(revisions)(
    "that serves only %s is spoken to in that, by its own choice",
    async (only) => {
      const { server } = createTourServer();
      await using served = await serveAt(server, { isOld: false, revisions: [only] });
      expect(await visit(served.url, { verdicts: new MemoryVerdicts() })).toBe(only);
    },
  );

  test("that changes under an open client is found out anew by its next call", async () => {
    let isModern = true;
    await using fake = await FakeHttp.open((request, response) => {
      const { rpcMethod, id, headers, method } = request;
      const isTold = headers["mcp-protocol-version"] === "2026-07-28";
      if (method !== "POST") return response.writeHead(405).end();
      if (isTold !== isModern && rpcMethod !== "initialize") {
        const data = { supported: isModern ? ["2026-07-28"] : ["2025-11-25"] };
        const error = { code: -32022, message: "Not any more.", data };
        return sendJson(response, JSON.stringify({ jsonrpc: "2.0", id, error }), 400);
      }
      if (rpcMethod === "server/discover") {
        return sendJson(response, result(id, discovery(["2026-07-28"])));
      }
      if (rpcMethod === "initialize") {
        return isModern
          ? sendJson(response, refusalText(id, -32601), 404)
          : sendJson(response, result(id, initializeResult("2025-11-25")));
      }
      if (id === undefined) return response.writeHead(202).end();
      const content = [{ type: "text", text: headers["mcp-protocol-version"] }];
      return sendJson(response, result(id, { resultType: "complete", content }));
    });
    const client = await connect(fake.url, { verdicts: new MemoryVerdicts() });
    expect((await client.call("do")).text).toBe("2026-07-28");
    isModern = false;
    expect((await client.call("do")).text).toBe("2025-11-25");
    expect(client.server.revision).toBe("2025-11-25");
    await client.close();
  });
});
