/** 2025-11-25 brings icons, pages to visit, and lets an error leave out an id that could not be read. */
import { shape2025_06_18 } from "./2025-06-18.ts";
import type { Adapter } from "./adapter.ts";
import { handshakeAdapter } from "./handshake.ts";
import type { Shape } from "./shape.ts";

const older = shape2025_06_18;

export const shape2025_11_25: Shape = {
  ...older,
  implementation: [...older.implementation, "description", "icons", "websiteUrl"],
  tool: [...older.tool, "icons"],
  resource: [...older.resource, "icons"],
  template: [...older.template, "icons"],
  prompt: [...older.prompt, "icons"],
  blocks: {
    ...older.blocks,
    resource_link: [...(older.blocks.resource_link ?? []), "icons"],
  },
};

export const adapter2025_11_25: Adapter = handshakeAdapter({
  revision: "2025-11-25",
  versionHeader: "sent",
  unreadableId: "absent",
  asks: { form: "push", url: "push", sample: "push", roots: "push" },
  questions: { forms: "full", urls: "with-id" },
  declares: "by-mode",
  resumption: "primed",
  shape: shape2025_11_25,
});
