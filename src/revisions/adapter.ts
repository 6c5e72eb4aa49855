/** What it is to speak one revision: both directions, the server's half and the client's. */
import type { Call, ListenFilter } from "../core/call.ts";
import type { CacheHints, Implementation } from "../core/model.ts";
import type { Notice } from "../core/notice.ts";
import type { Failure, Value } from "../core/outcome.ts";
import type { ParamHeader } from "../core/param-header.ts";
import type { Mechanic, Question, QuestionKind } from "../core/question.ts";
import type { Registry, View } from "../core/registry.ts";
import type { RequestId, RpcRequest } from "../jsonrpc/message.ts";
import type { JsonObject } from "../util/json.ts";
import type { ClientHalf } from "./client-half.ts";
import type { HeaderLookup, Statement } from "./preamble.ts";
import type { WireQuestion } from "./questions.ts";

/** What reading one request may look at beside the request itself. */
export interface Binding {
  /** What the endpoint serves. */
  readonly served: Served;
  /** The version that the URL pinned, which narrows the handshake to it. */
  readonly pinned: string | undefined;
  /** Over HTTP, the headers that a revision may ask to mirror the body. */
  readonly http: { readonly version: Statement; readonly headers: HeaderLookup } | undefined;
  /** The arguments of a tool that are mirrored into headers. */
  readonly paramHeaders: (tool: string) => readonly ParamHeader[];
  /** Whether a tool takes answers among its arguments, where there is no other way. */
  readonly asks: (tool: string) => boolean;
}

/** The revisions of one endpoint, as far as an adapter may know them. */
export interface Served {
  /** Every version that is answered on, newest first. */
  readonly supported: readonly string[];
  /** Those of them that are opened by `initialize`, newest first. */
  readonly handshakes: readonly string[];
  /** Whether some revision needs no handshake: callers take any discovery result for that. */
  readonly hasModern: boolean;
  find(version: string): Adapter | undefined;
}

export interface Decoded {
  readonly kind: "decoded";
  readonly call: Call;
  /** What a handshake settled on: the answer is written in it. */
  readonly settled: Settled | undefined;
}

export interface Settled {
  /** One of the versions that `adapter` claims. */
  readonly version: string;
  /** Undefined where it is the adapter that decoded. */
  readonly adapter: Adapter | undefined;
}

/** What an encoder knows of the server, so that nothing constant is written twice. */
export interface Described {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly registry: Registry;
  readonly lists: CacheHints;
  readonly supported: readonly string[];
  /** Whether changes and log entries can be told to callers whose revision asks for them by session. */
  readonly tellsSessions: boolean;
}

/** Writes results for one server in one revision. */
export interface Encoder {
  /** The result as JSON. */
  encode(value: Value, decoded: Decoded): string;
}

export interface WireError {
  readonly code: number;
  /** The HTTP status, where there is HTTP. */
  readonly status: number;
  readonly data: JsonObject | undefined;
}

export interface Adapter {
  /** The date that this adapter speaks. */
  readonly revision: string;
  /** Every version it answers on, its own included: dates that are identical in most respects. */
  readonly claims: readonly string[];
  /** `handshake`: opened by `initialize`. `modern`: every request stands alone. */
  readonly era: "handshake" | "modern";
  /** Whether an array of messages is decoded (2025-03-26 only) or refused. */
  readonly arrays: "batch" | "refused";
  /** The id of an error to a message whose own could not be read. */
  readonly unreadableId: "null" | "absent";
  readonly view: View;
  decode(request: RpcRequest, binding: Binding): Decoded | Failure;
  /** How each kind of question reaches a caller. */
  readonly asks: Readonly<Record<QuestionKind, Mechanic>>;
  /** How a caller hears of changes. */
  readonly listening: "listen" | "subscribe";
  /** Whether a stream that was lost can be resumed, and whether it says so from the start. */
  readonly resumption: "primed" | "plain" | "none";
  question(question: Question): WireQuestion;
  /** An answer that came to a question, as the question would have it. */
  answer(question: Question, raw: unknown): unknown;
  /** A notification; `subscription` is the id of the request that listens. */
  notify(notice: Notice, subscription?: RequestId): JsonObject;
  /** The first message to a caller that listens; undefined where nobody does. */
  readonly acknowledge: ((filter: ListenFilter, subscription: RequestId) => JsonObject) | undefined;
  encoder(described: Described): Encoder;
  error(failure: Failure): WireError;
  readonly client: ClientHalf;
}
