/** The least that a call over HTTP costs: writes, sends, reads and parses the same, and no more. */
import { Agent, request } from "node:http";
import { call } from "../call.ts";
import { over, takeOrders, url } from "./common.ts";

const agent = new Agent({ keepAlive: true });
const { hostname, port, pathname } = new URL(url);
let id = 0;

function write(): string {
  return JSON.stringify({ ...call, id: ++id });
}

const headers = {
  "content-type": "application/json",
  accept: "application/json, text/event-stream",
  "mcp-protocol-version": "2026-07-28",
  "mcp-method": "tools/call",
  "mcp-name": "add",
};

function callOverNode(): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const body = write();
    const sent = { ...headers, "content-length": Buffer.byteLength(body) };
    const outgoing = request(
      { method: "POST", hostname, port, path: pathname, headers: sent, agent },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
        incoming.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString())));
        incoming.on("error", reject);
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

async function callOverFetch(): Promise<unknown> {
  const response = await fetch(url, { method: "POST", headers, body: write() });
  return JSON.parse(await response.text());
}

takeOrders(over === "node" ? callOverNode : callOverFetch);
