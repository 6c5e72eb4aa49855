/**
 * Declare tools, resources and prompts once; serve every MCP client in the revision it
 * speaks. This entry runs on any JavaScript runtime; `anyrev/node` adds what Node has.
 */

export type { AuthOptions } from "./auth/gate.ts";
export { type Access, anyone, type Principal, type Visibility } from "./core/access.ts";
export type {
  AnswerContent,
  FormOptions,
  RootsOptions,
  SampleOptions,
  UrlOptions,
} from "./core/ask.ts";
export type { LogLevel } from "./core/call.ts";
export {
  assistant,
  audio,
  type BlockOptions,
  type Bytes,
  Content,
  type ContentOptions,
  failed,
  image,
  link,
  mixed,
  resource,
  text,
  user,
} from "./core/content.ts";
export type {
  Completer,
  PromptArgument,
  PromptArguments,
  PromptHandler,
  PromptOptions,
  PromptReturn,
  PromptValues,
  ResourceHandler,
  ResourceOptions,
  ResourcePart,
  ResourceReturn,
  TemplateHandler,
  TemplateOptions,
  ToolArguments,
  ToolHandler,
  ToolOptions,
  ToolReturn,
  VariableName,
  Variables,
} from "./core/declaration.ts";
export {
  DeclarationError,
  McpError,
  type McpErrorCode,
  type McpErrorOptions,
  Rejection,
} from "./core/errors.ts";
export type { Exchange } from "./core/exchange.ts";
export type { FromJsonSchema } from "./core/json-schema-types.ts";
export type { KeyStore, RingKey } from "./core/key-store.ts";
export { type Log, type LogEntry, logToConsole } from "./core/log.ts";
export {
  type JsonLogsOptions,
  jsonLogs,
  type LogFields,
  type Logger,
  type LoggerLevel,
} from "./core/logger.ts";
export type {
  AroundCall,
  AskingResult,
  CallResult,
  Listed,
  ListResult,
  Middleware,
  MiddlewareCall,
  ToolResult,
} from "./core/middleware.ts";
export type {
  Annotations,
  CacheHints,
  ClientCapabilities,
  ContentBlock,
  Icon,
  Implementation,
  PromptMessage,
  ResourceContents,
  Role,
  ToolAnnotations,
} from "./core/model.ts";
export { MemoryOneTime, type MemoryOneTimeOptions, type OneTimeStore } from "./core/one-time.ts";
export type {
  CompletionValue,
  ContentsValue,
  DescriptionValue,
  EmptyValue,
  Failure,
  FailureKind,
  MessagesValue,
} from "./core/outcome.ts";
export type { Answer, Root, Sample, SampleRequest } from "./core/question.ts";
export type { StateKeysOptions } from "./core/request-state.ts";
export type {
  Issue,
  JsonSchema,
  Schema,
  SchemaCompiler,
  SchemaInput,
  SchemaOutput,
  StandardSchema,
} from "./core/schema.ts";
export { createServer, type Declared, type Server, type ServerOptions } from "./core/server.ts";
export type { Session, SessionHandles, SessionValues } from "./core/session.ts";
export { StoreError, type StoreErrorCode, type StoreErrorOptions } from "./core/store-error.ts";
export type {
  Ended,
  Network,
  OpenedSession,
  Operation,
  Telemetry,
  Watching,
  WatchingSent,
} from "./core/telemetry.ts";
export { parseUriTemplate, type TemplateValue, type UriTemplate } from "./core/uri-template.ts";
export type {
  Adapter,
  Binding,
  Decoded,
  Described,
  Encoder,
  Served,
  WireError,
} from "./revisions/adapter.ts";
export { AdapterSet } from "./revisions/adapter-set.ts";
export type {
  ClientHalf,
  ClientRequest,
  ReadResult,
  WrittenRequest,
} from "./revisions/client-half.ts";
export {
  adapter2024_11_05,
  adapter2025_03_26,
  adapter2025_06_18,
  adapter2025_11_25,
  adapter2026_07_28,
  allRevisions,
} from "./revisions/index.ts";
export {
  type HeaderLookup,
  type Preamble,
  readPreamble,
  type Statement,
  type Unclear,
} from "./revisions/preamble.ts";
export { type Selection, type SelectionReason, select } from "./revisions/selection.ts";
export { Channel, type ChannelOptions } from "./server/channel.ts";
export { createEndpoint, type Endpoint, type EndpointOptions } from "./server/endpoint.ts";
export type { EventStream, Sink } from "./server/event-stream.ts";
export type { GuardOptions } from "./server/guard.ts";
export type { HttpReply, HttpRequest } from "./server/http.ts";
export type { StoreOptions } from "./server/kept.ts";
export { createLegacySse, type LegacySse, type LegacySseOptions } from "./server/legacy-sse.ts";
export type { LoadOptions } from "./server/load.ts";
export { type MemoryChannel, openMemoryChannel } from "./server/memory-channel.ts";
export type { RateLimiter, RateLimitOptions, RateOptions } from "./server/rate-limits.ts";
export type { ReadyState } from "./server/readiness.ts";
export type { Cursor, EventHub, HubEvent } from "./stores/event-hub.ts";
export type { KeyStoreOptions } from "./stores/key-store.ts";
export { MemorySessions, type MemorySessionsOptions } from "./stores/memory.ts";
export { MemoryHub, type MemoryHubOptions } from "./stores/memory-hub.ts";
export { MemoryKeys, type MemoryKeysOptions } from "./stores/memory-keys.ts";
export type { SessionRecord, SessionStore, SessionStoreOptions } from "./stores/session-store.ts";
export type { SharedStores } from "./stores/shared-stores.ts";
export type { Awaitable } from "./util/awaitable.ts";
