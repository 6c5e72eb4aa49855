/** What a server at a URL is reached over, for whoever watches. */
import type { Network } from "../core/telemetry.ts";

export function networkOf(url: string | URL): Network {
  const { protocol, hostname, port } = new URL(url);
  return {
    transport: "tcp",
    protocol: "http",
    address: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}
