/** What clients are measured against: bare `node:http` that answers fixed JSON under the id asked. */
import { createServer } from "node:http";
import { listen } from "./common.ts";

const info = { name: "replier", version: "1.0.0" };
const capabilities = { tools: {} };

const results: Readonly<Record<string, object>> = {
  "server/discover": {
    resultType: "complete",
    supportedVersions: ["2026-07-28", "2025-11-25"],
    capabilities,
    serverInfo: info,
    ttlMs: 0,
    cacheScope: "public",
  },
  initialize: { protocolVersion: "2025-11-25", capabilities, serverInfo: info },
  "tools/list": { resultType: "complete", tools: [], ttlMs: 0, cacheScope: "public" },
};

const called = JSON.stringify({
  resultType: "complete",
  content: [{ type: "text", text: '{"sum":5}' }],
  structuredContent: { sum: 5 },
});

const http = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    const text = Buffer.concat(chunks).toString();
    const { id, method } = text === "" ? { id: undefined, method: undefined } : JSON.parse(text);
    if (id === undefined) {
      outgoing.writeHead(incoming.method === "POST" ? 202 : 405).end();
      return;
    }
    const found = results[String(method)];
    const result = found === undefined ? called : JSON.stringify(found);
    const reply = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;
    outgoing.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(reply),
    });
    outgoing.end(reply);
  });
});

// Clients take turns: none is to find its connections closed.
http.keepAliveTimeout = 600_000;

await listen(http);
