/** Everything of the portable entry, and how to listen on Node. */
export * from "../index.ts";
export { type NodeHandler, type NodeHandlerOptions, toNodeHandler } from "./handler.ts";
export type { HealthOptions } from "./health.ts";
export { type ServeOptions, type Serving, serve } from "./serve.ts";
export { type StdioOptions, serveStdio } from "./stdio.ts";
