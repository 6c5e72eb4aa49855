/** The floor over stdio: parses each line and answers fixed JSON under its id, a chunk at a time. */
import { report } from "./common.ts";

const result = JSON.stringify({
  resultType: "complete",
  content: [{ type: "text", text: '{"sum":5}' }],
  structuredContent: { sum: 5 },
  _meta: { "io.modelcontextprotocol/serverInfo": { name: "bench", version: "1.0.0" } },
});

let rest = "";

process.stdin.setEncoding("utf8");
process.stdin.on("data", (chunk: string) => {
  const lines = (rest + chunk).split("\n");
  rest = lines.pop() ?? "";
  let replies = "";
  for (const line of lines) {
    replies += `{"jsonrpc":"2.0","id":${JSON.parse(line).id},"result":${result}}\n`;
  }
  process.stdout.write(replies);
});

report(0);
