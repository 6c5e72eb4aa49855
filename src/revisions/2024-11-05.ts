/** 2024-11-05, the first: https://modelcontextprotocol.io/specification/2024-11-05 */
import type { Adapter } from "./adapter.ts";
import { handshakeAdapter } from "./handshake.ts";
import type { Shape } from "./shape.ts";

export const shape2024_11_05: Shape = {
  implementation: ["name", "version"],
  // Completion can be asked for, but there is no capability to announce it by.
  capabilities: ["logging", "prompts", "resources", "tools"],
  tool: ["name", "description", "inputSchema"],
  resource: ["uri", "name", "description", "mimeType", "size", "annotations"],
  template: ["uriTemplate", "name", "description", "mimeType", "annotations"],
  prompt: ["name", "description", "arguments"],
  argument: ["name", "description", "required"],
  completion: ["ref", "argument", "_meta"],
  annotations: ["audience", "priority"],
  toolAnnotations: [],
  contents: ["uri", "mimeType", "text", "blob"],
  blocks: {
    text: ["type", "text", "annotations"],
    image: ["type", "data", "mimeType", "annotations"],
    resource: ["type", "resource", "annotations"],
  },
  structured: "none",
  progress: ["progressToken", "progress", "total"],
  answerArguments: "declared",
  paramHeaders: "stripped",
  booleanSchemas: "spelled-out",
};

export const adapter2024_11_05: Adapter = handshakeAdapter({
  revision: "2024-11-05",
  versionHeader: "undefined",
  unreadableId: "null",
  asks: { form: "arguments", url: "never", sample: "push", roots: "push" },
  questions: { forms: "plain", urls: "without-id" },
  declares: "none",
  resumption: "none",
  shape: shape2024_11_05,
});
