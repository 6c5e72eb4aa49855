/** Notices as notifications on the wire. */
import type { Change, Notice } from "../core/notice.ts";
import { type JsonObject, pick } from "../util/json.ts";

const listMethods: Readonly<Record<Extract<Change, { kind: "list-changed" }>["list"], string>> = {
  tools: "notifications/tools/list_changed",
  resources: "notifications/resources/list_changed",
  prompts: "notifications/prompts/list_changed",
};

/**
 * @param progressFields - what a report of progress may say in the revision
 * @param meta - what the notification's `_meta` says, where it says anything
 */
export function toNotification(
  notice: Notice,
  progressFields: readonly string[],
  meta: JsonObject | undefined,
): JsonObject {
  const extra = meta === undefined ? {} : { _meta: meta };
  switch (notice.kind) {
    case "progress": {
      const { token, progress, total, message } = notice;
      const told = { progressToken: token, progress, total, message };
      return notification("notifications/progress", { ...pick(told, progressFields), ...extra });
    }
    case "log": {
      const { level, logger, data } = notice;
      const told = pick({ level, logger, data: data ?? null }, ["level", "logger", "data"]);
      return notification("notifications/message", { ...told, ...extra });
    }
    case "list-changed":
      return notification(listMethods[notice.list], meta === undefined ? undefined : extra);
    case "resource-updated":
      return notification("notifications/resources/updated", { uri: notice.uri, ...extra });
  }
}

function notification(method: string, params: JsonObject | undefined): JsonObject {
  return params === undefined ? { jsonrpc: "2.0", method } : { jsonrpc: "2.0", method, params };
}
