/** The client, for any runtime: servers over `fetch`, and over a duplex of your own. */
export type {
  AnswerHandlers,
  AskAnswer,
  AskContext,
  AskRequest,
  SampleAnswer,
  SampleAsked,
} from "./answering.ts";
export { ResponseCache, type ResponseCacheOptions } from "./cache.ts";
export { ChannelTransport, type ChannelTransportOptions } from "./channel-transport.ts";
export type { Client, CompletionTarget } from "./client.ts";
export type { AuthAnswer, AuthExchange, ClientAuth } from "./client-auth.ts";
export {
  type ConnectOptions,
  connect,
  connectTo,
  duplexTarget,
  type FetchConnectOptions,
  httpTarget,
} from "./connect.ts";
export { type Duplex, type DuplexReader, type MemoryEnd, memoryDuplex } from "./duplex.ts";
export { ClientError, type ClientErrorKind, type ClientErrorOptions } from "./errors.ts";
export type { ServerLog } from "./hearing.ts";
export type { Progress } from "./link.ts";
export type { Interests, Listening } from "./listening.ts";
export type {
  Completion,
  ListedPrompt,
  ListedResource,
  ListedTemplate,
  Listings,
  PromptResult,
  ReadContents,
  ServerDescription,
  Tool,
  ToolResult,
} from "./model.ts";
export type { Target } from "./negotiate.ts";
export type { CallOptions, ClientOptions } from "./options.ts";
export type { FollowOptions, Incoming, Received, Transport, Travel } from "./transport.ts";
export {
  MemoryVerdicts,
  type MemoryVerdictsOptions,
  type Verdict,
  type VerdictStore,
} from "./verdicts.ts";
