/** What a browser needs to let a page read the answers it is allowed to have (Fetch standard). */
import { sessionHeader } from "../revisions/preamble.ts";
import { emptyReply, type HttpReply, type HttpRequest, withHeaders } from "./http.ts";

/** A page that is to come back later has to be able to read when. */
const exposed = `${sessionHeader}, www-authenticate, retry-after`;
const headerList = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\s*,\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/** On every answer, errors too: without it a script sees no status and no session id. */
export function allowOrigin(request: HttpRequest, reply: HttpReply): HttpReply {
  const origin = request.headers("origin");
  if (origin === undefined) return reply;
  return withHeaders(reply, {
    "access-control-allow-origin": origin,
    "access-control-expose-headers": exposed,
    vary: "Origin",
  });
}

/** The answer to a preflight; undefined when it is none. */
export function preflight(request: HttpRequest, methods: string): HttpReply | undefined {
  if (request.headers("access-control-request-method") === undefined) return undefined;
  const asked = request.headers("access-control-request-headers");
  const headers: Record<string, string> = {
    "access-control-allow-methods": methods,
    "access-control-max-age": "600",
  };
  if (asked !== undefined && headerList.test(asked))
    headers["access-control-allow-headers"] = asked;
  return emptyReply(204, headers);
}
