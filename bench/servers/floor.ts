/** The floor: bare `node:http` that parses the body and answers fixed JSON. */
import { createServer } from "node:http";
import { listen } from "./common.ts";

let reply = "{}";

const http = createServer((incoming, outgoing) => {
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    JSON.parse(Buffer.concat(chunks).toString());
    outgoing.writeHead(200, {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(reply),
    });
    outgoing.end(reply);
  });
});

await listen(http, (body) => {
  reply = body;
});
