/** The document by which a client finds out where to get a token (RFC 9728). */
import type { JsonObject } from "../util/json.ts";

const wellKnown = "/.well-known/oauth-protected-resource";

/** A resource by its identifier, and where its metadata is. */
export interface ResourceNames {
  /** Verbatim: clients compare it with what they were given, character by character. */
  readonly resource: string;
  readonly metadataUrl: string;
  /** Path and query of that URL. */
  readonly metadataTarget: string;
}

/**
 * The well-known path goes between the host and the path of the resource, whose own query
 * stays (RFC 8615; RFC 9728 section 3.1). Text is put together, not a URL: one would add a slash
 * to an origin.
 *
 * @throws TypeError when it is no http(s) URL, or has a fragment or credentials
 */
export function nameResource(resource: string): ResourceNames {
  const found = /^(https?:\/\/[^/?#\s]+)([^#\s]*)$/i.exec(resource);
  const isUrl = found !== null && URL.canParse(resource) && !found[1]?.includes("@");
  if (!isUrl) {
    throw new TypeError(
      `${JSON.stringify(resource)} identifies no resource; write its URL, such as "https://mcp.example.com/mcp"`,
    );
  }
  const [, origin = "", rest = ""] = found;
  const metadataTarget = `${wellKnown}${rest.replace(/^\/(?=\?|$)/, "")}`;
  return { resource, metadataUrl: `${origin}${metadataTarget}`, metadataTarget };
}

/** Whether a request asks for the metadata: a query that the resource has not means nothing. */
export function asksForMetadata({ metadataTarget }: ResourceNames, target: string): boolean {
  if (target === metadataTarget) return true;
  return !metadataTarget.includes("?") && target.split("?", 1)[0] === metadataTarget;
}

export interface MetadataOptions {
  readonly authorizationServers: readonly string[];
  readonly scopesSupported: readonly string[] | undefined;
  /** More members, such as `resource_name` or `resource_documentation`. */
  readonly more: JsonObject | undefined;
}

/** Members without a value are left out, as RFC 9728 section 3.2 asks. */
export function writeMetadata(resource: string, options: MetadataOptions): string {
  const { authorizationServers, scopesSupported, more } = options;
  return JSON.stringify({
    ...more,
    resource,
    authorization_servers: authorizationServers.length === 0 ? undefined : authorizationServers,
    scopes_supported: scopesSupported?.length === 0 ? undefined : scopesSupported,
    bearer_methods_supported: ["header"],
  });
}
