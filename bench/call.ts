/** The call that every row makes, as 2026-07-28 writes it. */
export const call = {
  jsonrpc: "2.0",
  method: "tools/call",
  params: {
    name: "add",
    arguments: { a: 2, b: 3 },
    _meta: {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1.0.0" },
      "io.modelcontextprotocol/clientCapabilities": {},
    },
  },
};
