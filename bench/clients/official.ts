/** The client of the official SDK 2.4; it speaks HTTP over fetch alone. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { takeOrders, url } from "./common.ts";

const client = new Client(
  { name: "bench", version: "1.0.0" },
  { versionNegotiation: { mode: { pin: "2026-07-28" } } },
);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
takeOrders(() => client.callTool({ name: "add", arguments: { a: 2, b: 3 } }));
