/**
 * State that a caller carries between the rounds of a call, spoiled: whatever is done to it, the
 * call does not go on, nothing runs, and no answer tells one kind of spoiling from another.
 */
import { createEndpoint, createServer, type Endpoint, type Principal } from "anyrev/node";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { toRequest } from "../support/bridges.ts";
import { headersFor, request } from "../support/messages.ts";
import { Random, seedOf } from "../support/random.ts";
import { isObject, type JsonObject, type Revision } from "../support/schemas.ts";
import { assertReply } from "../support/wire.ts";

const seed = seedOf(process.env);
console.log(`sealed state: FUZZ_SEED=${seed}`);

const flips = 10_000;

const key = new Uint8Array(32).fill(7);
const ada: Principal = principal("ada");
const eve: Principal = principal("eve");

function principal(subject: string): Principal {
  return { issuer: "https://auth.example.com", subject, client: "c", scopes: [], claims: {} };
}

/** What is asked for: by whom, which tool, with what. */
interface Asked {
  readonly by: Principal;
  readonly tool: string;
  readonly args: JsonObject;
}

const asked: Asked = { by: ada, tool: "transfer", args: { amount: 5 } };

interface Ledger {
  readonly endpoint: Endpoint;
  /** How often a handler was gone on with past its question. */
  readonly transfers: () => number;
}

function openLedger(keys: readonly Uint8Array[] = [key]): Ledger {
  let count = 0;
  const server = createServer({
    name: "ledger",
    version: "1",
    requestState: { keys },
    log: () => undefined,
  });
  for (const name of ["transfer", "donate"]) {
    const input = z.object({ amount: z.int() });
    server.tool(name, { input, asks: true }, async (_, ex) => {
      const noted = await ex.once("noted", () => "a note that is kept");
      const agreed = await ex.ask("sure", { message: "Sure?" });
      count++;
      return `${noted}: ${agreed.action}`;
    });
  }
  const endpoint = createEndpoint(server, { auth: { resource: "http://localhost/mcp" } });
  return { endpoint, transfers: () => count };
}

/** How a revision carries the state: as a parameter of the call, or as an argument of the tool. */
type Carry = (asked: Asked, state?: string) => { readonly params: JsonObject };

const carriers: readonly (readonly [Revision, Carry])[] = [
  [
    "2026-07-28",
    ({ tool, args }, state) => ({
      params: {
        name: tool,
        arguments: args,
        ...(state !== undefined && {
          requestState: state,
          inputResponses: { sure: { action: "accept", content: {} } },
        }),
      },
    }),
  ],
  [
    "2025-03-26",
    ({ tool, args }, state) => ({
      params: {
        name: tool,
        arguments: {
          ...args,
          ...(state !== undefined && { _state: state, _answers: { sure: {} } }),
        },
      },
    }),
  ],
];

class Teller {
  readonly revision: Revision;
  readonly #carry: Carry;

  constructor(revision: Revision, carry: Carry) {
    this.revision = revision;
    this.#carry = carry;
  }

  async ask({ endpoint }: Ledger, what: Asked, state?: string): Promise<JsonObject> {
    const { params } = this.#carry(what, state);
    const capabilities = { elicitation: {} };
    const message = request(this.revision, 1, "tools/call", params, { capabilities });
    const asking = toRequest({
      headers: { ...headersFor(this.revision, message), "mcp-protocol-version": this.revision },
      body: JSON.stringify(message),
    });
    const reply = JSON.parse(await (await endpoint.fetchAs(what.by, asking)).text()) as JsonObject;
    assertReply(this.revision, { method: "tools/call", id: 1, params }, reply);
    return reply;
  }

  /** A state that is good for `asked`. */
  async open(ledger: Ledger): Promise<string> {
    const text = JSON.stringify(await this.ask(ledger, asked));
    const [, state] = /(?:requestState"|_state\\+"): ?\\*"([\w-]{40,})/.exec(text) ?? [];
    if (state === undefined) throw new Error(`no state in ${text}`);
    return state;
  }
}

/** What is told of a state that is not taken: a new round begins, or an error says so. */
function outline(reply: JsonObject): unknown {
  if (isObject(reply["error"])) return reply["error"];
  const { content, isError, resultType } = isObject(reply["result"]) ? reply["result"] : {};
  const text = JSON.stringify(content).replaceAll(/[\w-]{40,}/g, "STATE");
  return { text, isError, resultType };
}

describe.each(carriers)("in %s", (revision, carry) => {
  const teller = new Teller(revision, carry);

  it("the state is good as it was given", async () => {
    const ledger = openLedger();
    const state = await teller.open(ledger);
    const reply = await teller.ask(ledger, asked, state);
    expect(JSON.stringify(reply)).toContain("a note that is kept: accept");
    expect(ledger.transfers()).toBe(1);
  });

  it(`none of ${flips} flips of a bit is taken, and all are answered alike`, async () => {
    const random = new Random(seed);
    const ledger = openLedger();
    const told = new Set<string>();
    for (let from = 0; from < flips; from += 100) {
      const bytes = Buffer.from(await teller.open(ledger), "base64url");
      const spoiled = Array.from({ length: 100 }, (_, at) => {
        const flipped = Buffer.from(bytes);
        // Every bit of the first bytes in turn, for there the version and the key are named.
        const bit = at < 50 ? (from / 2 + at) % (bytes.length * 8) : random.int(bytes.length * 8);
        flipped[bit >> 3]! ^= 1 << (bit & 7);
        return flipped.toString("base64url");
      });
      const replies = await Promise.all(spoiled.map((each) => teller.ask(ledger, asked, each)));
      for (const reply of replies) told.add(JSON.stringify(outline(reply)));
    }
    expect(ledger.transfers(), `FUZZ_SEED=${seed}`).toBe(0);
    expect([...told]).toHaveLength(1);
  }, 60_000);

  it("none that is cut, extended, spelled otherwise or put together from two is taken", async () => {
    const random = new Random(seed);
    const ledger = openLedger();
    const [one, two] = [await teller.open(ledger), await teller.open(ledger)];
    const spoiled = [
      ...Array.from({ length: one.length }, (_, end) => one.slice(0, end)).slice(1),
      ...Array.from(
        { length: one.length - 1 },
        (_, at) => one.slice(0, at + 1) + two.slice(at + 1),
      ),
      ...Array.from({ length: 100 }, () => one + "A".repeat(1 + random.int(50))),
      ...Array.from({ length: 100 }, () => {
        const at = random.int(one.length - 1);
        return one.slice(0, at) + one.slice(at + 1);
      }),
      ...["=", "==", "\n", " ", "\0", "é"].flatMap((odd) => [one + odd, odd + one]),
      one + two,
      [...one].reverse().join(""),
    ].filter((each) => each !== one && each !== two);
    const told = new Set<string>();
    for (const each of spoiled)
      told.add(JSON.stringify(outline(await teller.ask(ledger, asked, each))));
    expect(ledger.transfers(), `FUZZ_SEED=${seed}`).toBe(0);
    expect([...told]).toHaveLength(1);
  });

  it.each<[string, Partial<Asked>, readonly Uint8Array[]]>([
    ["another caller", { by: eve }, [key]],
    ["another client of the same user", { by: { ...ada, client: "other" } }, [key]],
    ["the same user of another issuer", { by: { ...ada, issuer: "https://b.example" } }, [key]],
    ["another tool", { tool: "donate" }, [key]],
    ["other arguments", { args: { amount: 500 } }, [key]],
    ["a server with other keys", {}, [new Uint8Array(32).fill(8)]],
  ])("the state is not taken from or for %s", async (_, other, keys) => {
    const [ledger, target] = [openLedger(), openLedger(keys)];
    const state = await teller.open(ledger);
    const stolen = await teller.ask(target, { ...asked, ...other }, state);
    const unknown = await teller.ask(target, { ...asked, ...other }, `${state.slice(0, -4)}AAAA`);
    expect(target.transfers()).toBe(0);
    expect(outline(stolen)).toEqual(outline(unknown));
    expect(JSON.stringify(stolen)).not.toContain("a note that is kept");
  });
});
