// A server over stdio that knows only the handshake. The first argument says how it takes any
// other first message: "silent", "exits", "refuses", or "logs" beside its refusal.
import { createInterface } from "node:readline";

const [, , manner] = process.argv;
const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
let isShaken = false;

function answer({ id, method, params }) {
  const reply = (result) => write({ jsonrpc: "2.0", id, result });
  if (method === "initialize") {
    isShaken = true;
    const serverInfo = { name: "old", version: String(process.pid) };
    return reply({ protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo });
  }
  if (id === undefined) return;
  if (!isShaken) return takeBadly(id);
  if (params?.name === "end") process.exit(7);
  reply({ content: [{ type: "text", text: String(process.pid) }] });
}

function takeBadly(id) {
  if (manner === "exits") process.exit(1);
  if (manner === "silent") return;
  if (manner === "logs") process.stdout.write("[db] connected\n");
  write({ jsonrpc: "2.0", id, error: { code: -32002, message: "Server not initialized" } });
}

createInterface({ input: process.stdin }).on("line", (line) => answer(JSON.parse(line)));
