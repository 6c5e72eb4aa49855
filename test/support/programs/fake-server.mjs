// Servers over stdio that behave as some do in the field. The first argument says which.
import { spawn } from "node:child_process";
import { closeSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , mode, argument] = process.argv;

const write = (message, end = "\n") => process.stdout.write(JSON.stringify(message) + end);
const reply = ({ id, params }, result = { echoed: params }) => ({ jsonrpc: "2.0", id, result });

const serverInfo = { name: "fake", version: "1.0.0" };

function serve(onMessage, onEnd = () => process.exit(0)) {
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  lines.on("line", (line) => onMessage(JSON.parse(line)));
  lines.on("close", onEnd);
}

const live = () => setInterval(() => undefined, 1_000);

const modes = {
  echo: () => serve((message) => message.id !== undefined && write(reply(message))),
  environment: () => serve((message) => write(reply(message, { ...process.env }))),
  folder: () => serve((message) => write(reply(message, { folder: process.cwd() }))),
  // Answers what came, once all has come.
  "at-end": () => {
    const heard = [];
    serve(
      (message) => heard.push(message),
      () => process.stderr.write(`${JSON.stringify(heard)}\n`, () => process.exit(0)),
    );
  },
  "exits-on-first-line": () =>
    serve(() => {
      process.stderr.write("\u001b[31mExpectedInitializeRequest\u001b[0m\n", () => process.exit(3));
    }),
  "killed-on-first-line": () => serve(() => process.kill(process.pid, "SIGKILL")),
  "exits-at-once": () => {
    for (let line = 1; line <= 30; line++) console.error(`line ${line} ${"x".repeat(600)}`);
    process.exitCode = 1;
  },
  hangs: () => serve(() => undefined),
  // Writes as a Rust or Python program does whose log goes to standard output.
  logs: () => {
    process.stdout.write("\u001b[32m[db]\u001b[0m connected\n\nINFO {not json}\n");
    serve((message) => {
      process.stdout.write(`{"level":"info","id":${message.id},"error":"none"}\n42\nnull\n`);
      process.stdout.write(Buffer.from([0xff, 0xfe, 0x0a]));
      write(reply(message));
      process.stdout.write("done\n");
    });
  },
  crlf: () => serve((message) => write(reply(message), "\r\n")),
  bom: () => serve((message) => process.stdout.write(`\ufeff${JSON.stringify(reply(message))}\n`)),
  // The last reply is not ended by a newline, and the end of the program follows.
  unterminated: () =>
    serve((message) => {
      process.stdout.write(JSON.stringify(reply(message)), () => process.exit(0));
    }),
  pieces: () =>
    serve(async (message) => {
      for (const byte of Buffer.from(`${JSON.stringify(reply(message, "é ☕ 🧨"))}\n`)) {
        process.stdout.write(Buffer.from([byte]));
        await new Promise((resolve) => setImmediate(resolve));
      }
    }),
  // Result first or id first, as different libraries write them.
  large: () =>
    serve((message) => {
      const { id, params } = message;
      const result = { text: "x".repeat(Number(argument)) };
      if (params.idFirst) write({ jsonrpc: "2.0", id, result });
      else write({ result, jsonrpc: "2.0", id });
    }),
  floods: () =>
    serve((message) => {
      let burst = "";
      for (let at = 0; at < Number(argument); at++) {
        burst += `${JSON.stringify({ jsonrpc: "2.0", method: "notifications/x", params: { at } })}\n`;
      }
      process.stdout.write(burst);
      write(reply(message));
    }),
  // Ends neither with its input nor when it is asked to.
  stubborn: () => {
    process.on("SIGTERM", () => process.stderr.write("no\n"));
    serve((message) => write(reply(message)), live);
  },
  "ends-on-term": () => serve((message) => write(reply(message)), live),
  // A wrapper: the server proper is its child, and lives on when the wrapper alone ends.
  wraps: () => {
    const child = spawn(process.execPath, [process.argv[1], argument], { stdio: "inherit" });
    process.stderr.write(`${child.pid}\n`);
    process.stdin.destroy();
    process.on("SIGTERM", () => process.exit(0));
    live();
  },
  "closes-output": () => serve(() => closeSync(1), live),
  "closes-input": () => {
    process.stdin.destroy();
    closeSync(0);
    process.stderr.write("closed\n");
    live();
  },
  // Never reads what it is sent.
  deaf: () => live(),
  array: () =>
    serve((message) =>
      write([
        { jsonrpc: "2.0", method: "notifications/x" },
        reply(message),
        [reply({ id: "nested" })],
      ]),
    ),
  asks: () =>
    serve((message) => {
      if (message.method === undefined) write(reply({ id: 1 }, { answered: message.result }));
      else write({ jsonrpc: "2.0", id: 1, method: "roots/list" });
    }),
  // Knows nothing before the handshake; its argument says how it takes what comes before.
  handshake: () => {
    let isOpen = false;
    const answers = {
      initialize: { protocolVersion: "2025-06-18", capabilities: {}, serverInfo },
      "tools/list": { tools: [{ name: String(process.pid), inputSchema: { type: "object" } }] },
    };
    serve((message) => {
      isOpen ||= message.method === "initialize";
      if (isOpen) return message.id !== undefined && write(reply(message, answers[message.method]));
      if (argument === "exits") process.exit(1);
      if (argument === "dies") process.kill(process.pid, "SIGKILL");
    });
  },
  // Sends what its first message says, as it stands there.
  says: () =>
    serve((message) => {
      for (const line of message.params?.lines ?? []) process.stdout.write(`${line}\n`);
    }),
  // Reverses pairs: the second request is answered first.
  crosses: () => {
    let kept;
    serve((message) => {
      if (kept === undefined) kept = message;
      else {
        write(reply(message));
        write(reply(kept));
        kept = undefined;
      }
    });
  },
};

if (process.env["TELL_PID"] !== undefined) console.error(process.pid);
modes[mode]();
