/**
 * 2025-06-18 brings structured results, resource links, titles, `_meta` and questions
 * to the user, and ends batches.
 */
import { shape2025_03_26 } from "./2025-03-26.ts";
import type { Adapter } from "./adapter.ts";
import { handshakeAdapter } from "./handshake.ts";
import type { Shape } from "./shape.ts";

const older = shape2025_03_26;

export const shape2025_06_18: Shape = {
  ...older,
  implementation: [...older.implementation, "title"],
  tool: [...older.tool, "title", "outputSchema", "_meta"],
  resource: [...older.resource, "title", "_meta"],
  template: [...older.template, "title", "_meta"],
  prompt: [...older.prompt, "title", "_meta"],
  argument: [...older.argument, "title"],
  completion: [...older.completion, "context"],
  annotations: [...older.annotations, "lastModified"],
  contents: [...older.contents, "_meta"],
  blocks: {
    text: ["type", "text", "annotations", "_meta"],
    image: ["type", "data", "mimeType", "annotations", "_meta"],
    audio: ["type", "data", "mimeType", "annotations", "_meta"],
    resource: ["type", "resource", "annotations", "_meta"],
    resource_link: [
      "type",
      "uri",
      "name",
      "title",
      "description",
      "mimeType",
      "size",
      "annotations",
      "_meta",
    ],
  },
  structured: "objects",
  answerArguments: "none",
};

export const adapter2025_06_18: Adapter = handshakeAdapter({
  revision: "2025-06-18",
  versionHeader: "sent",
  unreadableId: "null",
  asks: { form: "push", url: "never", sample: "push", roots: "push" },
  questions: { forms: "plain", urls: "without-id" },
  declares: "plain",
  resumption: "plain",
  shape: shape2025_06_18,
});
