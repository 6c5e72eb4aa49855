/** What the examples of the documentation say that they answer, and whether they do. */
import { expect } from "vitest";
import { type Asked, answering, converse, type Reaction } from "./answering.ts";
import { Client, type Open } from "./client.ts";
import type { JsonObject, Revision } from "./wire.ts";

/** A client whose user or model reacts in one way, or that has neither. */
export function connect(open: Open, revision: Revision, when?: When): Promise<Client> {
  const capabilities = when?.capabilities(revision) ?? {};
  return Client.open(answering(open, revision, when?.react ?? unasked), revision, { capabilities });
}

function unasked({ method }: Asked): never {
  throw new Error(`${method} asks a client that declared nothing`);
}

/**
 * A comment such as `// add {"a":1,"b":2} gives {"sum":3}` or `// reading note://1 fails with "…"`,
 * and perhaps `when the user accepts {"sure":true}`, and so on, at its end.
 */
export interface Claim {
  readonly line: string;
  readonly method: "tools/call" | "resources/read";
  readonly params: JsonObject;
  readonly fails: boolean;
  readonly expected: unknown;
  readonly when: When | undefined;
}

export interface When {
  readonly capabilities: (revision: Revision) => JsonObject;
  readonly react: Reaction;
}

export function claimsOf(code: string): Claim[] {
  const lines = code.split("\n").filter((line) => /^\/\/ .* (?:gives|fails with) /.test(line));
  return lines.map((line) => {
    const [, asked = "", how, expected = "", when] =
      /^\/\/ (.*?) (gives|fails with) (.*?)(?: when (the .*))?$/.exec(line) ?? [];
    const [, name = "", rest = ""] = /^(\S+) (.*)$/.exec(asked) ?? [];
    const common = {
      line,
      fails: how === "fails with",
      expected: JSON.parse(expected),
      when: when === undefined ? undefined : readWhen(when),
    };
    return name === "reading"
      ? { ...common, method: "resources/read", params: { uri: rest } }
      : { ...common, method: "tools/call", params: { name, arguments: JSON.parse(rest) } };
  });
}

/** `the user accepts {…}`, `the user declines`, `the model writes "…"` or `the roots are […]`. */
function readWhen(words: string): When {
  const [, what = "", rest] = /^the (user \w+|model writes|roots are)(?: (.*))?$/.exec(words) ?? [];
  const given: unknown = rest === undefined ? {} : JSON.parse(rest);
  const actions: Record<string, string> = {
    "user accepts": "accept",
    "user declines": "decline",
    "user cancels": "cancel",
  };
  const action = actions[what];
  if (action !== undefined) {
    return {
      // The oldest revisions have no such capability: there the model asks.
      capabilities: (revision) => (revision < "2025-06-18" ? {} : { elicitation: {} }),
      react: () => (action === "accept" ? { action, content: given } : { action }),
    };
  }
  if (what === "model writes") {
    const content = { type: "text", text: given };
    return {
      capabilities: () => ({ sampling: {} }),
      react: () => ({ role: "assistant", model: "a model", content }),
    };
  }
  if (what === "roots are" && Array.isArray(given)) {
    const roots = given.map((uri) => ({ uri }));
    return { capabilities: () => ({ roots: {} }), react: () => ({ roots }) };
  }
  throw new Error(`not understood: when ${words}`);
}

/** The first words of the answer, and whether it is a refusal. */
export async function verify(client: Client, claim: Claim): Promise<void> {
  const { result, error } = await perform(client, claim);
  const parts = (result?.["content"] ?? result?.["contents"] ?? []) as { text: string }[];
  const words = error?.message ?? parts[0]?.text ?? "";
  const fails = error !== undefined || result?.["isError"] === true;
  const where = `${claim.line} (${client.revision})`;
  expect(fails, `${where}: ${words}`).toBe(claim.fails);
  if (claim.fails) expect(words, where).toContain(claim.expected);
  else if (typeof claim.expected === "string") expect(words, where).toEqual(claim.expected);
  else expect(JSON.parse(words), where).toEqual(claim.expected);
}

function perform(client: Client, { method, params, when }: Claim): ReturnType<Client["ask"]> {
  if (when === undefined || method !== "tools/call") return client.ask(method, params);
  return converse(client, String(params["name"]), params["arguments"] as JsonObject, when.react);
}
