// Listens for a peer, and tells where on standard output.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";

/** @param handler - takes requests as `node:http` gives them */
export function listen(handler, path = "/mcp") {
  const server = createServer((request, response) => {
    Promise.resolve(handler(request, response)).catch((cause) => {
      console.error(cause);
      response.destroy();
    });
  });
  server.listen(0, "127.0.0.1", () => {
    console.log(`listening http://127.0.0.1:${server.address().port}${path}`);
  });
}

/** @param fetch - takes requests as the Fetch standard has them */
export function listenFetch(fetch, path) {
  listen(getRequestListener(fetch, { overrideGlobalObjects: false }), path);
}

export async function readJson(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}
