/** One entry for each call and each refusal. No arguments, results, credentials or ids of sessions. */

import { type LogFields, type Logger, tell } from "../core/logger.ts";
import type { FailureKind } from "../core/outcome.ts";
import type { Ended, Operation, Telemetry, Watching } from "../core/telemetry.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { Pseudonyms } from "../util/pseudonyms.ts";
import type { HttpReply, HttpRequest } from "./http.ts";

/** Characters of an id or a path at most: both are what a stranger wrote. */
const maxText = 100;

export function accessLog(logger: Logger): Telemetry {
  const names = new Pseudonyms();
  const nameOf = (secret: string | undefined): string | undefined =>
    secret === undefined || secret === "" ? undefined : names.of(secret);
  return {
    received(operation) {
      const level = isQuiet(operation) ? "debug" : "info";
      if (!isEnabled(logger, level)) return undefined;
      return watch(operation, "received", (fields, { sessionId }) =>
        tell(logger, level, operation.method, {
          ...fields,
          session: nameOf(operation.sessionId ?? sessionId),
          principal: nameOf(operation.owner),
        }),
      );
    },
    sent(operation) {
      if (!isEnabled(logger, "info")) return undefined;
      const watching = watch(operation, "sent", (fields) =>
        tell(logger, "info", operation.method, {
          ...fields,
          session: nameOf(operation.sessionId),
          principal: nameOf(operation.owner),
        }),
      );
      return { ...watching, carried: undefined };
    },
  };
}

/** What comes so often that it says nothing. */
function isQuiet({ method, id }: Operation): boolean {
  return id === undefined || method === "ping";
}

function isEnabled(logger: Logger, level: "debug" | "info"): boolean {
  return logger.isLevelEnabled?.(level) ?? true;
}

function watch(
  { method, id, tool, prompt, revision, selected }: Operation,
  direction: "received" | "sent",
  write: (fields: LogFields, ended: Ended) => void,
): Watching {
  const start = performance.now();
  return {
    run: (work) => work(),
    end(ended) {
      const { status, code, reason, isError } = ended;
      write(
        {
          direction,
          method,
          name: tool ?? prompt,
          id: typeof id === "string" ? id.slice(0, maxText) : id,
          revision: ended.revision ?? revision,
          selected,
          outcome: outcomeOf(reason, isError),
          reason,
          status,
          code,
          durationMs: since(start),
        },
        ended,
      );
    },
  };
}

function outcomeOf(reason: string | undefined, isError: boolean | undefined): string {
  if (reason !== undefined) return reason === "cancelled" ? "cancelled" : "refused";
  return isError ? "tool_error" : "ok";
}

function since(start: number): number {
  return Math.round((performance.now() - start) * 1_000) / 1_000;
}

interface Handling {
  handle(request: HttpRequest): Awaitable<HttpReply>;
}

/** Also tells of what was turned away before there was a call to tell of. */
export function tellingRefusals(endpoint: Handling, logger: Logger | undefined): Handling {
  if (logger === undefined) return endpoint;
  return {
    handle(request) {
      const start = performance.now();
      return after(endpoint.handle(request), (reply) => {
        const { refused, status } = reply;
        if (refused === undefined) return reply;
        const http = request.method.slice(0, maxText);
        tellRefusal(logger, refused, {
          http,
          path: pathOf(request),
          status,
          durationMs: since(start),
        });
        return reply;
      });
    },
  };
}

/** Tells of one message that could not be taken for a call. */
export function tellRefusal(
  logger: Logger | undefined,
  reason: FailureKind,
  fields: LogFields = {},
): void {
  if (logger === undefined || !isEnabled(logger, "info")) return;
  tell(logger, "info", "refused", { outcome: "refused", reason, ...fields });
}

/** Without the query, where some put tokens. */
function pathOf({ target }: HttpRequest): string {
  return (target.split("?")[0] ?? "").slice(0, maxText);
}
