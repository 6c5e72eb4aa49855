/** Bytes that are nearly HTTP, over real sockets: the server lives, and honest callers are answered right. */
import { type Selection, type Server, serve } from "anyrev/node";
import { expect, it } from "vitest";
import { createHostile } from "../support/hostile.ts";
import { headersFor, request } from "../support/messages.ts";
import { Random, seedOf } from "../support/random.ts";
import { RawSocket, rawRequest } from "../support/raw-socket.ts";
import { createShowcase } from "../support/showcase.ts";
import { checkReply, isObject, revisions } from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`raw fuzz: FUZZ_SEED=${seed}`);

const requests = 50_000;
const lanes = 8;
const perWrite = 10;

const statuses: readonly number[] = [
  100, 200, 202, 204, 400, 403, 404, 405, 406, 408, 411, 413, 414, 415, 417, 431, 501, 505,
];

/** Spoils the bytes of a request, mostly a little. */
function spoil(random: Random, text: string): string {
  let spoiled = text;
  for (let count = random.int(3); count > 0; count--) {
    const at = random.int(spoiled.length);
    switch (random.int(6)) {
      case 0:
        spoiled =
          spoiled.slice(0, at) + String.fromCharCode(random.int(256)) + spoiled.slice(at + 1);
        break;
      case 1:
        spoiled = spoiled.slice(0, at) + spoiled.slice(at + 1 + random.int(8));
        break;
      case 2:
        spoiled = spoiled.slice(0, at) + spoiled.slice(Math.max(0, at - random.int(40)));
        break;
      case 3:
        spoiled = spoiled.replace(
          "\r\n",
          random.pick(["\n", "\r", "\r\n\r\n", "\0", "\r\n\t", ": "]),
        );
        break;
      case 4:
        spoiled = spoiled.replace(/\r\n/, `\r\n${random.pick(oddLines)}\r\n`);
        break;
      default:
        spoiled = spoiled.replace(
          "HTTP/1.1",
          random.pick(["HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", "http/1.1", ""]),
        );
    }
  }
  return spoiled;
}

const oddLines: readonly string[] = [
  "Transfer-Encoding: chunked",
  "Content-Length: 5",
  "Host: evil.test",
  "Expect: 100-continue",
  "Connection: upgrade\r\nUpgrade: websocket",
  "X: \x01",
  ": nameless",
  "Accept : */*",
  `X-Long: ${"y".repeat(20_000)}`,
  "Mcp-Session-Id: \xff",
];

function createBytes(random: Random): Buffer {
  const { method: named, query, headers, body } = createHostile(random, []);
  // Whoever reads answers in a row must know that none of them lacks its body.
  const method = named === "HEAD" ? "GET" : named;
  const lines = Object.entries({ host: "localhost", ...headers });
  // One unit is one byte here, of a body in UTF-8 as well.
  const text = Buffer.from(body).toString("latin1");
  const path = random.chance(0.9)
    ? "/mcp"
    : random.pick(["/sse", "/messages", "/health", "*", "//mcp"]);
  const asked = `${method} ${path}${query} HTTP/1.1\r\n`;
  const all = [...lines, ["content-length", String(text.length)] as const];
  const head = all.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.from(spoil(random, `${asked}${head}\r\n${text}`), "latin1");
}

function target(complaints: unknown[]): Server {
  return createShowcase({
    log: (entry: { readonly level: string }) => {
      if (entry.level === "error") complaints.push(entry);
    },
  });
}

/** Sends bytes until so many requests are out; what comes back is judged answer by answer. */
async function run(port: number, random: Random, count: number, faults: string[]): Promise<void> {
  for (let sent = 0; sent < count; sent += perWrite) {
    using socket = await RawSocket.open(port);
    const bytes = Array.from({ length: perWrite }, () => createBytes(random));
    socket.write(Buffer.concat(bytes));
    socket.end();
    for (let answers = 0; ; answers++) {
      const answer = await socket.answer();
      if (answer === undefined) break;
      // More answers than anybody can have asked for would be somebody else's.
      if (answers > perWrite * 3) faults.push("answers without end");
      const problem = judge(answer);
      if (problem !== undefined) faults.push(problem);
    }
  }
}

function judge({
  status,
  text,
  headers,
}: {
  status: number;
  text: string;
  headers: object;
}): string | undefined {
  if (!statuses.includes(status)) return `the status ${status}: ${text.slice(0, 300)}`;
  if (/\bat .+:\d+:\d+|node_modules|\/src\//.test(text)) return `a stack: ${text.slice(0, 300)}`;
  const type = "content-type" in headers ? headers["content-type"] : undefined;
  if (text === "" || type !== "application/json" || text.startsWith('{"status"')) return undefined;
  const parsed: unknown = JSON.parse(text);
  const replies: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  for (const reply of replies) {
    if (!isObject(reply) || !isObject(reply["error"])) continue;
    if (reply["error"]["code"] === -32603) return `an internal error: ${text.slice(0, 300)}`;
    const id = reply["id"] ?? undefined;
    // Which revision it was taken for is not known here, so the kindest of them judges.
    const judged = revisions.map((revision) => checkReply(revision, { method: "ping", id }, reply));
    if (judged.every((problems) => problems.length > 0))
      return `no revision has: ${text.slice(0, 300)}`;
  }
  return undefined;
}

/** Calls in every revision, each answered with what it said. */
async function honest(port: number, isOver: () => boolean): Promise<number> {
  let calls = 0;
  let socket = await RawSocket.open(port);
  while (!isOver() || calls < revisions.length) {
    const revision = revisions[calls % revisions.length] ?? "2026-07-28";
    const said = `call ${++calls}`;
    const message = request(revision, calls, "tools/call", { name: "say", arguments: { said } });
    const headers = { ...headersFor(revision, message), "mcp-protocol-version": revision };
    if (socket.isClosed) socket = await RawSocket.open(port);
    const lines = Object.entries({ host: "localhost", ...headers });
    socket.write(rawRequest("POST", "/mcp", lines, JSON.stringify(message)));
    const answer = await socket.answer();
    expect([answer?.status, answer?.text]).toEqual([200, expect.any(String)]);
    const reply: unknown = JSON.parse(answer?.text ?? "");
    expect(reply).toMatchObject({ id: calls, result: { content: [{ type: "text", text: said }] } });
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  socket[Symbol.dispose]();
  return calls;
}

it(`${requests} spoiled requests over sockets leave the server as it was`, async () => {
  const complaints: unknown[] = [];
  const selections = new Set<string>();
  const onSelection = ({ adapter }: Selection) => void selections.add(adapter.revision);
  const server = target(complaints);
  server.tool("say", {}, ({ said }) => String(said));
  await using serving = await serve(server, { port: 0, drainMs: 50, legacySse: true, onSelection });
  const faults: string[] = [];
  let isOver = false;
  const calling = honest(serving.port, () => isOver);
  const fuzzing = Array.from({ length: lanes }, (_, lane) =>
    run(serving.port, new Random(seed + lane), requests / lanes, faults),
  );
  await Promise.all(fuzzing);
  isOver = true;
  expect(await calling).toBeGreaterThan(20);
  expect(faults.slice(0, 5), `FUZZ_SEED=${seed}`).toEqual([]);
  expect(complaints.slice(0, 5), `FUZZ_SEED=${seed}`).toEqual([]);
  // The bytes were not so bad that nothing got through.
  expect([...selections].sort()).toEqual([...revisions].sort());
}, 120_000);
