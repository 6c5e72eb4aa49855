/** Whatever a server answers over HTTP, a call ends, with its own answer or a reason. */
import type { ServerResponse } from "node:http";
import type { Client } from "anyrev/client";
import { expect, test } from "vitest";
import { connect } from "../support/connecting.ts";
import { FakeHttp, type FakeRequest } from "../support/fake-http.ts";
import { noise, rightAnswer, spoil } from "../support/fuzzed-answers.ts";
import { awkwardStrings, Random, seedOf } from "../support/random.ts";
import { judge, operations, toTag } from "../support/tagged-operations.ts";
import type { JsonObject, Revision } from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`client HTTP fuzz: FUZZ_SEED=${seed}`);

const answers = 4_000;
const statuses = [200, 200, 200, 200, 202, 204, 301, 307, 400, 401, 404, 405, 413, 429, 500, 503];
const types = ["application/json", "text/event-stream", "text/html", "APPLICATION/JSON; a=b", ""];

class HostileHttp {
  spoilt = 0;
  readonly #random: Random;
  #opened = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  respond(request: FakeRequest, response: ServerResponse, revision: Revision): void {
    const { method, rpcMethod, id, body } = request;
    if (method !== "POST") response.writeHead(method === "GET" ? 405 : 204).end();
    else if (id === undefined || rpcMethod === undefined) response.writeHead(202).end();
    else if (rpcMethod === "initialize" || rpcMethod === "server/discover") {
      const right = rightAnswer(new Random(0), revision, JSON.parse(body));
      const session = this.#random.chance(0.5) ? { "mcp-session-id": `S${++this.#opened}` } : {};
      response.writeHead(200, { "content-type": "application/json", ...session });
      response.end(JSON.stringify(right));
    } else {
      this.spoilt++;
      this.#spoil(JSON.parse(body), response, revision);
    }
  }

  #spoil(asked: JsonObject, response: ServerResponse, revision: Revision): void {
    const random = this.#random;
    const right = rightAnswer(random, revision, asked);
    const message = random.chance(0.4) ? right : spoil(random, right);
    const isStream = random.chance(0.5);
    const usual = isStream ? "text/event-stream" : "application/json";
    const type = random.chance(0.1) ? random.pick(types) : usual;
    const status = random.chance(0.1) ? random.pick(statuses) : 200;
    const location = random.pick(["/mcp", "/elsewhere", "http://127.0.0.1:9/", "::", ""]);
    response.writeHead(status, {
      ...(type !== "" && { "content-type": type }),
      ...(status > 300 && status < 400 && { location }),
      ...(random.chance(0.1) && { "mcp-session-id": "another", "retry-after": "x" }),
    });
    if (status === 204) response.end();
    else if (isStream) this.#write(response, this.#toEvents(message));
    else this.#write(response, JSON.stringify(message) ?? "");
  }

  #toEvents(message: unknown): string {
    const random = this.#random;
    const event = (each: unknown) => `data: ${JSON.stringify(each)}`;
    const fields = [event(message)];
    if (random.chance(0.2)) fields.unshift(`id: ${random.pick(awkwardStrings)}`);
    if (random.chance(0.2)) fields.unshift(`event: ${random.pick(["message", "ping", ""])}`);
    if (random.chance(0.1)) fields.unshift(`retry: ${random.pick(["0", "1", "x", "-5"])}`);
    const before = random.chance(0.3) ? `${event(noise(random))}\n\n` : "";
    const after = random.chance(0.2) ? `${event(noise(random))}\n\n` : "";
    const end = random.pick(["\n", "\r\n", "\r"]);
    return `${before}${fields.join("\n")}\n\n${after}`.replaceAll("\n", end);
  }

  /** In pieces, cut off, or spoilt byte by byte. */
  #write(response: ServerResponse, text: string): void {
    const random = this.#random;
    const bytes = Buffer.from(text);
    if (random.chance(0.03) && bytes.length > 0) bytes[random.int(bytes.length)] = random.int(256);
    const cut = random.int(bytes.length + 1);
    response.write(bytes.subarray(0, cut));
    const finish = () => {
      if (random.chance(0.03)) response.destroy();
      else response.end(random.chance(0.05) ? undefined : bytes.subarray(cut));
    };
    if (random.chance(0.3)) setTimeout(finish, random.int(3));
    else finish();
  }
}

const revisions: readonly Revision[] = ["2026-07-28", "2025-11-25", "2025-03-26"];

test("spoilt answers over HTTP mix up, hold up and break nothing", {
  timeout: 120_000,
}, async () => {
  const random = new Random(seed);
  const hostile = new HostileHttp(random);
  let revision = revisions[0]!;
  await using fake = await FakeHttp.open((request, response) =>
    hostile.respond(request, response, revision),
  );
  const problems: string[] = [];
  const outcomes = { answered: 0, failed: 0 };
  let tags = 0;
  while (hostile.spoilt < answers && problems.length === 0) {
    revision = random.pick(revisions);
    const client: Client = await connect(fake.url, {
      revisions: revision,
      timeoutMs: 10_000,
      resumeAttempts: 1,
      resumeWithinMs: 1,
      maxMessageBytes: 100_000,
      onAsk: () => ({ action: "accept" }),
    });
    for (let round = 0; round < 20; round++) {
      const ended = Array.from({ length: 1 + random.int(12) }, () => {
        const tag = toTag(++tags);
        return judge(random.pick(operations)(client, tag), tag, outcomes);
      });
      problems.push(...(await Promise.all(ended)).filter((problem) => problem !== undefined));
    }
    await client.close();
    fake.requests.length = 0;
  }
  expect(problems).toEqual([]);
  // It was neither all refused nor all let through.
  expect(outcomes.answered).toBeGreaterThan(tags / 4);
  expect(outcomes.failed).toBeGreaterThan(tags / 10);
  expect(Object.keys(Object.prototype)).toEqual([]);
});
