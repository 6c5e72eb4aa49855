/** Media types in `Content-Type` and `Accept` (RFC 9110 sections 8.3.1 and 12.5.1). */

/** Case and parameters do not matter; decided once, before anything is executed. */
export function isJson(contentType: string | undefined): boolean {
  if (contentType === "application/json") return true;
  return contentType !== undefined && typeOf(contentType) === "application/json";
}

export type Acceptable = "json" | "event-stream" | "neither";

/** What a caller takes: JSON where it can, an event stream where it takes only that. */
export function acceptable(accept: string | undefined): Acceptable {
  // What nearly every client sends, in the order most of them send it.
  if (accept === undefined || accept === "application/json, text/event-stream") return "json";
  if (accept.trim() === "") return "json";
  const ranges = accept
    .split(",")
    .filter((range) => !isRefused(range))
    .map(typeOf);
  if (ranges.some((range) => jsonRanges.includes(range))) return "json";
  return ranges.some((range) => streamRanges.includes(range)) ? "event-stream" : "neither";
}

const jsonRanges: readonly string[] = ["application/json", "application/*", "*/*"];
const streamRanges: readonly string[] = ["text/event-stream", "text/*"];

function typeOf(value: string): string {
  const end = value.indexOf(";");
  return (end < 0 ? value : value.slice(0, end)).trim().toLowerCase();
}

/** A weight of zero means "not this" (RFC 9110 section 12.4.2). */
function isRefused(range: string): boolean {
  return /;\s*q\s*=\s*0(?:\.0*)?\s*(?:;|$)/i.test(range);
}
