/** Official clients over transports that are not HTTP requests, and a walk over every tool. */
import {
  Client as Client2,
  type ClientOptions as Client2Options,
  type Transport as Transport2,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport as Transport1 } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { expect } from "vitest";
import { clientInfo } from "./official.ts";
import { askable, elicit, listRoots, sample } from "./official-answers.ts";
import {
  checkReply,
  checkServerMessage,
  isObject,
  type JsonObject,
  type RequestOutline,
  type Revision,
} from "./wire.ts";

/** The part of both official clients that the walk needs. */
export interface Walker {
  readonly negotiated: string | undefined;
  /** What is wrong with anything that was received. */
  readonly problems: readonly string[];
  /** The methods of the questions that it was asked. */
  readonly asked: readonly string[];
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(name: string, args: Record<string, unknown>): Promise<unknown>;
  getPrompt(name: string): Promise<unknown>;
  close(): Promise<void>;
}

export async function walkWithSdk1(transport: Transport1, revision: Revision): Promise<Walker> {
  const asked: string[] = [];
  const problems = watch(transport, revision);
  const client = new Client1(clientInfo, { capabilities: askable });
  const note = <T>(method: string, answer: T): T => {
    asked.push(method);
    return answer;
  };
  client.setRequestHandler(ElicitRequestSchema, ({ method, params }) =>
    note(method, elicit(params)),
  );
  client.setRequestHandler(CreateMessageRequestSchema, ({ method }) => note(method, sample()));
  client.setRequestHandler(ListRootsRequestSchema, ({ method }) => note(method, listRoots()));
  let negotiated: string | undefined;
  const setVersion = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (version) => {
    negotiated = version;
    setVersion?.(version);
  };
  await client.connect(transport);
  return {
    negotiated,
    problems,
    asked,
    listTools: () => client.listTools(),
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    getPrompt: (name) => client.getPrompt({ name }),
    close: () => client.close(),
  };
}

export async function walkWithSdk2(
  transport: Transport2,
  revision: Revision,
  options: Client2Options,
): Promise<Walker> {
  const asked: string[] = [];
  const problems = watch(transport, revision);
  const client = new Client2(clientInfo, { ...options, capabilities: askable });
  client.setRequestHandler("elicitation/create", ({ method, params }) => {
    asked.push(method);
    return elicit(params);
  });
  client.setRequestHandler("sampling/createMessage", ({ method }) => {
    asked.push(method);
    return sample();
  });
  client.setRequestHandler("roots/list", ({ method }) => {
    asked.push(method);
    return listRoots();
  });
  await client.connect(transport);
  return {
    negotiated: client.getNegotiatedProtocolVersion(),
    problems,
    asked,
    listTools: () => client.listTools(),
    callTool: (name, args) => client.callTool({ name, arguments: args }),
    getPrompt: (name) => client.getPrompt({ name }),
    close: () => client.close(),
  };
}

interface Watched {
  send(message: unknown, options?: unknown): Promise<void>;
  onmessage?: ((message: JsonObject, extra: unknown) => void) | undefined;
}

/** Judges whatever a transport receives, before its client does anything with it. */
function watch(transport: object, revision: Revision): readonly string[] {
  // Both clients hand messages over through these two members.
  const watched = transport as Watched;
  const problems: string[] = [];
  const asked = new Map<unknown, RequestOutline>();
  const send = watched.send.bind(watched);
  watched.send = (message, options) => {
    if (isObject(message) && typeof message["method"] === "string") {
      asked.set(message["id"], { id: message["id"], method: message["method"] });
    }
    return send(message, options);
  };
  let handler: Watched["onmessage"];
  Object.defineProperty(watched, "onmessage", {
    get: () => handler,
    set: (given: Watched["onmessage"]) => {
      handler =
        given &&
        ((message, extra) => {
          const outline = asked.get(message["id"]);
          const found =
            "method" in message || outline === undefined
              ? checkServerMessage(revision, message)
              : checkReply(revision, outline, message);
          problems.push(...found);
          given(message, extra);
        });
    },
  });
  return problems;
}

/** What the tools take that take something. */
const taken: Readonly<Record<string, Record<string, unknown>>> = {
  json_schema_2020_12_tool: { name: "Ada", contactMethod: "phone", phone: "1" },
  test_sampling: { prompt: "What is the capital of France?" },
  test_elicitation: { message: "Who are you?" },
  add: { a: 1, b: 2 },
  echo: { text: "hello", delayMs: 1 },
  ask_twice: { first: "First?", second: "Second?" },
  remember: { key: "k", value: "v" },
  recall: { key: "k" },
  touch: { uri: "test://watched-resource" },
  toggle: { name: "toggled" },
  count: { key: "k" },
  count_to: { n: 2, delayMs: 1 },
  region: { region: "eu" },
};

/** Calls every tool that is listed. @returns the text of each result. */
export async function callEveryTool(walker: Walker): Promise<ReadonlyMap<string, string>> {
  const texts = new Map<string, string>();
  const { tools } = await walker.listTools();
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(taken)));
  for (const { name } of tools) {
    const result = await walker.callTool(name, taken[name] ?? {});
    const { isError, content } = result as {
      readonly isError?: boolean;
      readonly content: readonly { readonly text?: string }[];
    };
    expect(isError ?? false, `${name}: ${JSON.stringify(content)}`).toBe(
      name === "test_error_handling",
    );
    texts.set(name, content[0]?.text ?? "");
  }
  return texts;
}
