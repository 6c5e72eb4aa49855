/** Every tool and prompt of the fixture that asks, called by an official client that answers. */
import { expect } from "vitest";
import type { Official } from "./official.ts";
import { answered, elicit } from "./official-answers.ts";
import { readToldQuestions, textOf } from "./told-questions.ts";
import type { Revision } from "./wire.ts";

type Kind = "form" | "sample" | "roots";

interface AskingTool {
  readonly arguments?: Record<string, unknown>;
  readonly kinds: readonly Kind[];
  /** What it says in the end. */
  readonly text: string | RegExp | ((revision: Revision) => string);
}

const { text: name } = answered;
const round = (kinds: readonly Kind[], text: string): AskingTool => ({ kinds, text });

const tools: Readonly<Record<string, AskingTool>> = {
  test_sampling: { arguments: { prompt: "Hi?" }, kinds: ["sample"], text: `LLM response: ${name}` },
  test_missing_capability: { kinds: ["sample"], text: name },
  test_elicitation: {
    arguments: { message: "Who are you?" },
    kinds: ["form"],
    text: `User response: accept {"username":"${name}","email":"${name}"}`,
  },
  test_elicitation_sep1034_defaults: {
    kinds: ["form"],
    // 2025-06-18 has defaults for booleans alone, so there the user has to fill in the rest.
    text: (revision) =>
      revision === "2025-06-18"
        ? `accept {"name":"${name}","age":1,"score":1,"status":"active","verified":true}`
        : 'accept {"name":"John Doe","age":30,"score":95.5,"status":"active","verified":true}',
  },
  test_elicitation_sep1330_enums: {
    kinds: ["form"],
    text: 'accept {"untitledSingle":"option1","titledSingle":"value1","legacyEnum":"opt1","untitledMulti":["option1"],"titledMulti":["value1"]}',
  },
  test_streaming_elicitation: { kinds: ["form"], text: "accept" },
  test_input_required_result_elicitation: round(["form"], `Hello, ${name}!`),
  test_input_required_result_sampling: round(["sample"], `The model says: ${name}`),
  test_input_required_result_list_roots: round(["roots"], "There are 1 roots."),
  test_input_required_result_request_state: round(["form"], "state-ok"),
  test_input_required_result_multiple_inputs: round(
    ["form", "sample", "roots"],
    `accept, ${name}, 1`,
  ),
  test_input_required_result_multi_round: round(["form"], `${name} likes ${name}.`),
  test_input_required_result_tampered_state: round(["form"], "accept"),
  test_input_required_result_capabilities: round(["sample"], name),
  ask_twice: {
    arguments: { first: "One?", second: "Two?" },
    kinds: ["form"],
    // The effect was had once, however often the handler ran.
    text: new RegExp(`^{"first":"${name}","second":"${name}","count":(\\d+),"effects":\\1}$`),
  },
};

const prompt = "test_input_required_result_prompt";

export const askingTools: readonly string[] = Object.keys(tools);
export const askingPrompts: readonly string[] = [prompt];

export interface Circumstances {
  readonly revision: Revision;
  readonly sessions: boolean;
}

/** How a question reaches the client: asked for its answer, told to its model, or not at all. */
function reach(kind: Kind, { revision, sessions }: Circumstances): "asked" | "told" | "never" {
  if (revision === "2026-07-28") return "asked";
  if (kind === "form" && revision < "2025-06-18") return "told";
  // What a client can be asked, it said in the handshake, and only a session remembers that.
  return sessions ? "asked" : "never";
}

/** Calls all of them. */
export async function converse(client: Official, at: Circumstances): Promise<void> {
  for (const [tool, { arguments: args = {}, kinds, text }] of Object.entries(tools)) {
    const answering = callAndAnswer(client, tool, args);
    if (kinds.some((kind) => reach(kind, at) === "never")) {
      await expect(answering, tool).rejects.toMatchObject({ code: -32603 });
      continue;
    }
    const expected = typeof text === "function" ? text(at.revision) : text;
    const said = await answering;
    if (typeof expected === "string") expect(said, tool).toBe(expected);
    else expect(said, tool).toMatch(expected);
  }
  const getting = client.getPrompt(prompt);
  // A prompt has no arguments that could carry the answers of a model.
  if (reach("form", at) === "asked") {
    expect(await getting).toMatchObject({
      messages: [{ role: "user", content: { text: `The context is ${name}.` } }],
    });
  } else await expect(getting).rejects.toMatchObject({ code: -32603 });
}

/** Calls a tool as a model does that is told what to ask its user. @returns the text in the end. */
async function callAndAnswer(
  client: Official,
  tool: string,
  args: Record<string, unknown>,
): Promise<string> {
  let given = args;
  for (let call = 0; call < 5; call++) {
    const text = textOf(await client.callTool(tool, given));
    const told = readToldQuestions(text);
    if (told === undefined) return text;
    const answers = told.questions.map(({ key, schema }) => [
      key,
      elicit({ requestedSchema: schema }).content,
    ]);
    given = { ...args, _answers: Object.fromEntries(answers), _state: told.state };
  }
  throw new Error(`${tool} does not come to an end`);
}
