/** Whatever a server answers, a call ends, with its own answer or a reason, and so does the next. */
import {
  ChannelTransport,
  type Client,
  ClientError,
  connect,
  type Duplex,
  type DuplexReader,
} from "anyrev/client";
import { expect, test } from "vitest";
import { noise, rightAnswer, spoil, toLine } from "../support/fuzzed-answers.ts";
import { Random, seedOf } from "../support/random.ts";
import { judge, operations, toTag } from "../support/tagged-operations.ts";
import type { JsonObject, Revision } from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`client fuzz: FUZZ_SEED=${seed}`);

const answers = 50_000;
const capBytes = 20_000;
const patienceMs = 10_000;

/** Answers what it is asked, wrongly as a rule, and then rightly, so that nothing waits for ever. */
class HostileDuplex implements Duplex {
  /** How many answers were spoilt, over all of them. */
  static spoilt = 0;
  readonly #random: Random;
  readonly #revision: Revision;
  #reader: DuplexReader | undefined;
  #asked: JsonObject[] = [];
  /** Whether its revision was found out, or is to be by answers that are spoilt too. */
  #isFound: boolean;

  constructor(random: Random, revision: Revision, isFound = false) {
    this.#random = random;
    this.#revision = revision;
    this.#isFound = isFound;
  }

  async open(reader: DuplexReader): Promise<void> {
    this.#reader = reader;
  }

  send(message: JsonObject): void {
    const { id, method } = message;
    if (id === undefined || method === undefined) return;
    const asked = JSON.parse(JSON.stringify(message)) as JsonObject;
    if (!this.#isFound) {
      this.#isFound = true;
      const right = rightAnswer(new Random(0), this.#revision, asked);
      setImmediate(() => this.#reader?.message(right));
    } else if (this.#asked.push(asked) === 1) this.#soon();
  }

  async close(): Promise<void> {
    this.#reader = undefined;
  }

  #soon(): void {
    if (this.#random.chance(0.1)) setTimeout(() => this.#answer(), this.#random.int(4));
    else setImmediate(() => this.#answer());
  }

  #answer(): void {
    const asked = this.#asked;
    this.#asked = [];
    const wrong = shuffled(this.#random, asked).map((each) => this.#wrong(each));
    HostileDuplex.spoilt += wrong.length;
    const lines = this.#random.chance(0.2) ? batched(this.#random, wrong) : wrong;
    this.#write(
      lines.flatMap((line) => (this.#random.chance(0.2) ? [noise(this.#random), line] : [line])),
    );
    if (this.#random.chance(0.002)) {
      this.#reader?.closed(new Error("the server ended"));
      return;
    }
    // An answer that came already makes of these ones that nobody asked for.
    const right = asked.map((each) => JSON.stringify(this.#right(each)));
    this.#reader?.bytes(new TextEncoder().encode(`\n${right.join("\n")}\n`));
  }

  #right(asked: JsonObject): JsonObject {
    return rightAnswer(this.#random, this.#revision, asked);
  }

  #wrong(asked: JsonObject): unknown {
    const right = this.#right(asked);
    return this.#random.chance(0.1) ? right : spoil(this.#random, right);
  }

  #write(messages: readonly unknown[]): void {
    for (const message of messages) {
      const bytes = toLine(this.#random, message, capBytes);
      const times = this.#random.chance(0.05) ? 2 : 1;
      for (let time = 0; time < times; time++) this.#pour(bytes);
    }
  }

  #pour(bytes: Uint8Array): void {
    const cut = this.#random.chance(0.2) ? this.#random.int(bytes.length + 1) : bytes.length;
    this.#reader?.bytes(bytes.subarray(0, cut));
    this.#reader?.bytes(bytes.subarray(cut));
  }
}

function shuffled<T>(random: Random, of: readonly T[]): T[] {
  const left = [...of];
  return of.map(() => left.splice(random.int(left.length), 1)[0] as T);
}

/** Several answers in one message, as servers of 2025-03-26 may send them, and others do not. */
function batched(random: Random, messages: readonly unknown[]): unknown[] {
  const cut = random.int(messages.length + 1);
  return [messages.slice(0, cut), messages.slice(cut)];
}

const revisions: readonly Revision[] = ["2026-07-28", "2025-11-25", "2025-03-26"];

function connectTo(
  random: Random,
  revision: Revision,
  warnings: { count: number },
): Promise<Client> {
  const open = () =>
    new ChannelTransport(new HostileDuplex(random, revision), { maxMessageBytes: capBytes });
  return connect(
    { key: undefined, open },
    {
      revisions: revision,
      timeoutMs: patienceMs,
      cache: revision === "2026-07-28",
      onAsk: () => ({ action: "accept" }),
      onSample: () => ({ content: "", model: "" }),
      onRoots: [],
      onLog: () => undefined,
      onWarning: () => warnings.count++,
    },
  );
}

async function listenTo(client: Client): Promise<void> {
  try {
    const listening = await client.listen({ lists: ["tools"], uris: ["note://1"] }, () => {});
    await listening.close();
  } catch (cause) {
    if (!(cause instanceof ClientError)) throw cause;
  }
}

test("50,000 spoilt answers over a channel mix up, hold up and break nothing", {
  timeout: 120_000,
}, async () => {
  const random = new Random(seed);
  const problems: string[] = [];
  const warnings = { count: 0 };
  const outcomes = { answered: 0, failed: 0 };
  let tags = 0;
  for (let client: Client | undefined; HostileDuplex.spoilt < answers && problems.length === 0; ) {
    const revision = random.pick(revisions);
    client = await connectTo(random, revision, warnings).catch(() => undefined);
    for (let round = 0; client !== undefined && round < 40; round++) {
      const there = client;
      const ended = Array.from({ length: 1 + random.int(16) }, () => {
        const tag = toTag(++tags);
        return judge(random.pick(operations)(there, tag), tag, outcomes);
      });
      const listening = random.chance(0.1) ? listenTo(there) : undefined;
      problems.push(...(await Promise.all(ended)).filter((problem) => problem !== undefined));
      await listening;
    }
    await client?.close();
  }
  expect(problems).toEqual([]);
  // It was neither all refused nor all let through.
  expect(outcomes.answered).toBeGreaterThan(tags / 4);
  expect(outcomes.failed).toBeGreaterThan(tags / 10);
  expect(HostileDuplex.spoilt).toBeGreaterThanOrEqual(answers);
  expect(warnings.count).toBeGreaterThan(answers / 10);
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(({} as JsonObject)["polluted"]).toBeUndefined();
});

test("5,000 spoilt answers to the first request end in a connection or a reason", async () => {
  const random = new Random(seed + 1);
  const before = HostileDuplex.spoilt;
  const problems: unknown[] = [];
  while (HostileDuplex.spoilt - before < 5_000 && problems.length === 0) {
    const attempts = Array.from({ length: 16 }, async () => {
      const revision = random.pick(revisions);
      const open = () => {
        const duplex = new HostileDuplex(random, revision, true);
        return new ChannelTransport(duplex, { maxMessageBytes: capBytes });
      };
      const accepted = random.chance(0.5) ? "auto" : revision;
      const options = { revisions: accepted, timeoutMs: patienceMs, probeTimeoutMs: patienceMs };
      try {
        const client = await connect({ key: undefined, open }, options);
        JSON.stringify(client.server);
        await client.close();
      } catch (cause) {
        if (!(cause instanceof ClientError) || cause.kind === "timeout") problems.push(cause);
      }
    });
    await Promise.all(attempts);
  }
  expect(problems).toEqual([]);
});
