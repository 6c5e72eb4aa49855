/** The notebook as a program: `npm start`. */
import { type Serving, serve } from "anyrev/node";
import { createNotebook, type NotebookServer } from "./server.ts";

const path = process.env["NOTEBOOK_PATH"] ?? "./data/notebook.sqlite";
const port = readPort(process.env["PORT"] ?? "8080");
const notebook = openNotebook();
const { url, close } = await listen();

console.log(`
The notebook is served at ${url}
Its notes are in ${path}

Claude Code:

  claude mcp add --transport http notebook ${url}

Other clients (mcp.json):

${JSON.stringify({ mcpServers: { notebook: { type: "http", url } } }, undefined, 2)}

Ctrl+C stops it.
`);

process.once("SIGINT", stop);
process.once("SIGTERM", stop);

/** Lets what is being answered finish; a second signal ends the process at once. */
function stop(): void {
  close().then(
    () => {
      notebook.close();
      process.exit(0);
    },
    (cause: unknown) => quit(`Could not stop in order: ${String(cause)}`),
  );
}

function openNotebook(): NotebookServer {
  try {
    return createNotebook({ path });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    return quit(`Cannot keep notes in ${path}: ${why}\nNOTEBOOK_PATH chooses another file.`);
  }
}

async function listen(): Promise<Serving> {
  try {
    return await serve(notebook.server, { port });
  } catch (cause) {
    notebook.close();
    const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
    if (code === "EADDRINUSE") {
      return quit(
        `Port ${port} is taken by another program. Choose another: PORT=${port + 1} npm start`,
      );
    }
    if (code === "EACCES") {
      return quit(`Port ${port} is not allowed here. Choose a higher one: PORT=8080 npm start`);
    }
    throw cause;
  }
}

function readPort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  return quit(
    `PORT is ${JSON.stringify(text)}, and must be a number from 0 to 65535; 0 takes a free one.`,
  );
}

function quit(why: string): never {
  console.error(why);
  process.exit(1);
}
