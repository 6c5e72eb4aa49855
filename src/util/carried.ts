/** What travels in `_meta` beside what its sender wrote there. */
import { isObject, type JsonObject } from "./json.ts";

/** A trace context that a sender wrote itself stands: halves of two would belong to neither. */
export function withCarried(params: JsonObject, carried: JsonObject | undefined): JsonObject {
  if (carried === undefined) return params;
  const given = isObject(params["_meta"]) ? params["_meta"] : {};
  return "traceparent" in given ? params : { ...params, _meta: { ...carried, ...given } };
}
