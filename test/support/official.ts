/** The official clients over a real socket, behind one face, with all they receive recorded. */
import {
  Client as Client2,
  type ClientOptions as Client2Options,
  StreamableHTTPClientTransport as Transport2,
} from "@modelcontextprotocol/client";
import {
  Client as Client1,
  type ClientOptions as Client1Options,
} from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { askable, elicit, listRoots, sample } from "./official-answers.ts";
import { isObject, type JsonObject } from "./schemas.ts";
import { checkReply, checkServerMessage, type RequestOutline, type Revision } from "./wire.ts";

/** What crossed the wire once: an HTTP request and the messages of its response so far. */
interface Crossing {
  readonly request: RequestOutline;
  readonly type: string | null;
  readonly status: number;
  readonly messages: readonly unknown[];
}

/** The part of both official clients that the tests use; answers are judged by the caller. */
export interface Official {
  readonly recorder: Recorder;
  negotiated(): string | undefined;
  sessionId(): string | undefined;
  ping(): Promise<unknown>;
  listTools(
    cursor?: string,
  ): Promise<{ tools: { name: string }[]; nextCursor?: string | undefined }>;
  listResources(
    cursor?: string,
  ): Promise<{ resources: { uri: string }[]; nextCursor?: string | undefined }>;
  listTemplates(
    cursor?: string,
  ): Promise<{ resourceTemplates: { uriTemplate: string }[]; nextCursor?: string | undefined }>;
  listPrompts(cursor?: string): Promise<{
    prompts: { name: string; arguments?: { name: string }[] | undefined }[];
    nextCursor?: string | undefined;
  }>;
  callTool(name: string, args?: Record<string, unknown>): Promise<unknown>;
  readResource(uri: string): Promise<unknown>;
  getPrompt(name: string, args?: Record<string, string>): Promise<unknown>;
  complete(ref: CompletionRef, name: string, value: string): Promise<unknown>;
  endSession(): Promise<void>;
  close(): Promise<void>;
}

type CompletionRef = { type: "ref/prompt"; name: string } | { type: "ref/resource"; uri: string };

export const clientInfo = { name: "official-client", version: "1.0.0" };

export interface RecorderOptions {
  /** Replaces the version that `initialize` asks for, where a client always asks for its newest. */
  readonly offer?: string | undefined;
  /** Replaces what each POST accepts. */
  readonly accept?: string | undefined;
}

/** A `fetch` that keeps what it saw. */
export class Recorder {
  readonly crossings: Crossing[] = [];
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions = {}) {
    this.#options = options;
  }

  readonly fetch = async (url: string | URL, init: RequestInit = {}): Promise<Response> => {
    const sent = this.#rewrite(init);
    const response = await fetch(url, sent);
    const messages: unknown[] = [];
    const http = sent.method ?? "GET";
    this.crossings.push({
      request: outline(http, sent.body),
      type: response.headers.get("content-type"),
      status: response.status,
      messages,
    });
    if (response.body !== null && isEventStream(response)) {
      return new Response(response.body.pipeThrough(keepEvents(messages)), response);
    }
    const text = await response.clone().text();
    if (text !== "") messages.push(JSON.parse(text));
    return response;
  };

  /** Requests by method, or HTTP requests that carry none by their verb. */
  of(method: string): readonly Crossing[] {
    return this.crossings.filter(({ request }) => request.method === method);
  }

  /**
   * What is wrong, in `revision`, with anything that was received. A GET or a DELETE is refused
   * as such before its revision is looked at, so that refusal is in the `newest` one served.
   */
  problems(revision: Revision, newest: Revision = "2026-07-28"): string[] {
    const asked = new Map<unknown, RequestOutline>(
      this.crossings.flatMap(({ request }) =>
        request.id === undefined ? [] : [[request.id, request]],
      ),
    );
    const replies = this.crossings.flatMap(({ messages }) => messages.filter(isReply));
    const answered = new Set(replies.map(({ id }) => id));
    return this.crossings.flatMap(({ request, messages, status }) =>
      [
        ...messages.flatMap((message) => {
          // A stream that was let go of is taken up by a GET, which then brings the reply.
          const cause = isReply(message) ? (asked.get(message["id"]) ?? request) : request;
          return judge(revision, newest, cause, message);
        }),
        ...(mustBeAnswered(request) && !answered.has(request.id) ? ["was not answered"] : []),
      ].map((problem) => `${request.method} (${status}): ${problem}`),
    );
  }

  #rewrite(init: RequestInit): RequestInit {
    const { offer, accept } = this.#options;
    if (typeof init.body !== "string") return init;
    const headers = new Headers(init.headers);
    if (accept !== undefined) headers.set("accept", accept);
    const message: unknown = JSON.parse(init.body);
    if (offer === undefined || !isObject(message) || message["method"] !== "initialize") {
      return { ...init, headers };
    }
    const params = isObject(message["params"]) ? message["params"] : {};
    const body = { ...message, params: { ...params, protocolVersion: offer } };
    return { ...init, headers, body: JSON.stringify(body) };
  }
}

function judge(
  revision: Revision,
  newest: Revision,
  request: RequestOutline,
  message: unknown,
): string[] {
  if (isObject(message) && "method" in message) return checkServerMessage(revision, message);
  const isBare = request.method === "GET" || request.method === "DELETE";
  return checkReply(isBare ? newest : revision, request, message);
}

/** A client that has heard enough closes the stream, and then there is nobody to answer. */
function mustBeAnswered({ id, method }: RequestOutline): boolean {
  return id !== undefined && method !== "subscriptions/listen";
}

function isReply(message: unknown): message is JsonObject {
  return isObject(message) && !("method" in message);
}

function outline(http: string, body: unknown): RequestOutline {
  const message: unknown = typeof body === "string" ? JSON.parse(body) : undefined;
  if (!isObject(message)) return { method: http };
  const { method, id, params } = message;
  // An answer of the client is no request, so nothing answers it.
  return typeof method === "string" ? { method, id, params } : { method: http };
}

function isEventStream(response: Response): boolean {
  return response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

/** Notes each event on its way to the client, so that what the client has read was kept before. */
function keepEvents(messages: unknown[]): TransformStream<Uint8Array, Uint8Array> {
  const decoder = new TextDecoder();
  let rest = "";
  return new TransformStream({
    transform(chunk, controller) {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const data = line.startsWith("data:") ? line.slice(5).trim() : "";
        if (data !== "") messages.push(JSON.parse(data));
      }
      controller.enqueue(chunk);
    },
  });
}

/** Connects the 1.x client, which asks for its newest revision unless the recorder offers another. */
export async function connectSdk1(
  url: string,
  recording: RecorderOptions = {},
  options: Client1Options = {},
): Promise<Official> {
  const recorder = new Recorder(recording);
  const transport = new Transport1(new URL(url), { fetch: recorder.fetch });
  const client = new Client1(clientInfo, { capabilities: askable, ...options });
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicit(params));
  client.setRequestHandler(CreateMessageRequestSchema, sample);
  client.setRequestHandler(ListRootsRequestSchema, listRoots);
  await client.connect(transport);
  return {
    recorder,
    negotiated: () => transport.protocolVersion,
    sessionId: () => transport.sessionId,
    ping: () => client.ping(),
    listTools: (cursor) => client.listTools(page(cursor)),
    listResources: (cursor) => client.listResources(page(cursor)),
    listTemplates: (cursor) => client.listResourceTemplates(page(cursor)),
    listPrompts: (cursor) => client.listPrompts(page(cursor)),
    callTool: (name, args) => client.callTool({ name, ...(args && { arguments: args }) }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, ...(args && { arguments: args }) }),
    complete: (ref, name, value) => client.complete({ ref, argument: { name, value } }),
    endSession: () => transport.terminateSession(),
    close: () => client.close(),
  };
}

/** Connects the 2.x client, which can be told what to offer and whether to probe first. */
export async function connectSdk2(
  url: string,
  options: Client2Options,
  recording: RecorderOptions = {},
): Promise<Official> {
  const recorder = new Recorder(recording);
  const transport = new Transport2(new URL(url), { fetch: recorder.fetch });
  const client = new Client2(clientInfo, { capabilities: askable, ...options });
  client.setRequestHandler("elicitation/create", ({ params }) => elicit(params));
  client.setRequestHandler("sampling/createMessage", sample);
  client.setRequestHandler("roots/list", listRoots);
  await client.connect(transport);
  return {
    recorder,
    negotiated: () => client.getNegotiatedProtocolVersion(),
    sessionId: () => transport.sessionId,
    ping: () => client.ping(),
    listTools: (cursor) => client.listTools(page(cursor)),
    listResources: (cursor) => client.listResources(page(cursor)),
    listTemplates: (cursor) => client.listResourceTemplates(page(cursor)),
    listPrompts: (cursor) => client.listPrompts(page(cursor)),
    callTool: (name, args) => client.callTool({ name, ...(args && { arguments: args }) }),
    readResource: (uri) => client.readResource({ uri }),
    getPrompt: (name, args) => client.getPrompt({ name, ...(args && { arguments: args }) }),
    complete: (ref, name, value) => client.complete({ ref, argument: { name, value } }),
    endSession: () => transport.terminateSession(),
    close: () => client.close(),
  };
}

/** What a client calls when its list of tools has changed, and the names it then has. */
export function listening() {
  let hear = (_names: readonly string[]): void => {};
  const heard = new Promise<readonly string[]>((resolve) => {
    hear = resolve;
  });
  const onChanged = (_cause: unknown, tools: readonly { name: string }[] | null): void =>
    hear((tools ?? []).map((tool) => tool.name));
  return { onChanged, heard };
}

function page(cursor: string | undefined): { cursor: string } | undefined {
  return cursor === undefined ? undefined : { cursor };
}
