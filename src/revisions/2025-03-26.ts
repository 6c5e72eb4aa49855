/** 2025-03-26 brings batches, audio, tool annotations and a capability for completion. */
import { shape2024_11_05 } from "./2024-11-05.ts";
import type { Adapter } from "./adapter.ts";
import { handshakeAdapter } from "./handshake.ts";
import type { Shape } from "./shape.ts";

export const shape2025_03_26: Shape = {
  ...shape2024_11_05,
  capabilities: ["completions", ...shape2024_11_05.capabilities],
  tool: [...shape2024_11_05.tool, "annotations"],
  progress: [...shape2024_11_05.progress, "message"],
  toolAnnotations: ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"],
  blocks: { ...shape2024_11_05.blocks, audio: ["type", "data", "mimeType", "annotations"] },
};

export const adapter2025_03_26: Adapter = handshakeAdapter({
  revision: "2025-03-26",
  arrays: "batch",
  versionHeader: "undefined",
  unreadableId: "null",
  asks: { form: "arguments", url: "never", sample: "push", roots: "push" },
  questions: { forms: "plain", urls: "without-id" },
  declares: "none",
  resumption: "plain",
  shape: shape2025_03_26,
});
