/** How a worker ends, and what it says of itself; and several of them on one port. */
import { once } from "node:events";
import { get } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Worker as NodeWorker } from "node:worker_threads";
import { createServer, MemorySessions, type SharedStores, StoreError, serve } from "anyrev/node";
import { beforeAll, describe, expect, test } from "vitest";
import { overSocket } from "../support/live.ts";
import { buildFixtures, Program, patience } from "../support/program.ts";
import { until } from "../support/signals.ts";
import { Talker } from "../support/talk.ts";
import { placeIn, WorkerGroup } from "../support/worker-group.ts";

beforeAll(buildFixtures, patience);

/** Connects 64 times, tells when all are connected, and gives the first line each is told. */
const manyCallers = `
  const { connect } = require("node:net");
  const { parentPort, workerData: port } = require("node:worker_threads");
  parentPort.once("message", async (connected) => {
    const sockets = Array.from({ length: 64 }, () => connect(port, "127.0.0.1"));
    const lines = sockets.map((socket) => new Promise((resolve) => {
      let text = "";
      socket.on("data", (chunk) => (text += chunk));
      socket.once("error", (cause) => resolve(cause.code));
      socket.once("close", () => resolve(text.split("\\r\\n")[0]));
    }));
    await Promise.all(sockets.map((socket) => new Promise((resolve) =>
      socket.once("connect", () =>
        socket.write("GET /ready HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n", resolve)))));
    Atomics.store(connected, 0, 1);
    Atomics.notify(connected, 0);
    parentPort.postMessage(await Promise.all(lines));
  });
`;

const none = { close: () => Promise.resolve() };

describe("a worker that is told to end", () => {
  test("finishes calls, ends streams, passes on what they said, and exits with 0", {
    timeout: patience,
  }, async () => {
    await using place = await placeIn("sqlite");
    await using group = await WorkerGroup.open(place.address, 2);
    const [first] = group.members;
    const onFirst = await Talker.open(group.at(0), "2025-11-25");
    const onSecond = onFirst.on(group.at(1));
    const other = await Talker.open(group.at(0), "2026-07-28");
    // One stream of each kind, a call whose caller stays, and one whose caller has gone.
    const changes = onFirst.listen();
    await changes.live;
    const uri = "test://watched-resource";
    const listening = other.ask("subscriptions/listen", {
      notifications: { resourceSubscriptions: [uri] },
    });
    await listening.told("notifications/subscriptions/acknowledged");
    const stays = other.call("echo", { text: "late", delayMs: 700 });
    const left = onFirst.call("count_to", { n: 4, delayMs: 250 }, { token: "t" });
    await left.next();
    left.drop();
    // A connection that is kept open, on which more could be asked.
    first!.program.child.kill("SIGTERM");
    await until("it takes no new connection", async () => {
      const asked = fetch(`http://127.0.0.1:${first!.port}/ready`);
      return asked.then(
        ({ status }) => status === 503,
        () => true,
      );
    });
    expect(await stays.text()).toBe('{"text":"late"}');
    expect(await listening.result()).toMatchObject({ resultType: "complete" });
    expect(await changes.rest()).toEqual([]);
    expect(await first!.program.ended, first!.program.stderr).toEqual({ code: 0, signal: null });
    // The call that was left went on to its end, and the other worker has what it came to.
    expect(await onSecond.resume(left).text()).toBe("counted to 4");
  });

  test("waits for its calls no longer than it is allowed to", async () => {
    const server = createServer({ name: "slow", version: "1.0.0" });
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    server.tool("for_ever", { description: "Never ends." }, () => {
      begun();
      return new Promise<string>(() => {});
    });
    const serving = await serve(server, { port: 0, drainMs: 200 });
    const talker = await Talker.open(overSocket({ ...none, port: serving.port }), "2026-07-28");
    const call = talker.call("for_ever");
    await hasBegun;
    const started = performance.now();
    await serving.close();
    expect(performance.now() - started).toBeLessThan(2_000);
    await expect(call.reply()).rejects.toThrow();
  });

  test("resets no connection that the system had accepted before it ended", async () => {
    const serving = await serve(createServer({ name: "ends", version: "1.0.0" }), { port: 0 });
    const callers = new NodeWorker(manyCallers, { eval: true, workerData: serving.port });
    const answers = once(callers, "message");
    const connected = new Int32Array(new SharedArrayBuffer(4));
    await once(callers, "online");
    callers.postMessage(connected);
    // While the event loop stands still, connections are made that nothing has taken yet.
    expect(Atomics.wait(connected, 0, 0, 10_000)).toBe("ok");
    await serving.close();
    expect((await answers)[0]).toEqual(Array(64).fill("HTTP/1.1 503 Service Unavailable"));
    await callers.terminate();
  });

  test("refuses requests that come in on a connection that is open, to be sent elsewhere", async () => {
    const server = createServer({ name: "ends", version: "1.0.0" });
    let begun = (): void => undefined;
    const hasBegun = new Promise<void>((resolve) => {
      begun = resolve;
    });
    server.tool("wait", { description: "Waits." }, async () => {
      begun();
      await delay(300);
      return "waited";
    });
    const serving = await serve(server, { port: 0 });
    const worker = overSocket({ ...none, port: serving.port });
    const talker = await Talker.open(worker, "2026-07-28");
    const waiting = talker.call("wait");
    await hasBegun;
    // Connected before, and asked only afterwards.
    const late = openConnection(serving.port);
    await late.connected;
    const closed = serving.close();
    const answer = await late.ask(
      JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tools/list", params: {} }),
    );
    expect(answer).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer.toLowerCase()).toContain("retry-after: 1\r\n");
    expect(answer).toContain('"id":7,"error":{"code":-32603,');
    expect(await waiting.text()).toBe("waited");
    await closed;
  });
});

describe("what a worker says of itself", () => {
  const status = (port: number, path: string, host = "10.0.0.7"): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      get({ host: "127.0.0.1", port, path, headers: { host }, agent: false }, (answer) => {
        let text = "";
        answer.on("data", (chunk) => {
          text += chunk;
        });
        answer.on("end", () => resolve([answer.statusCode ?? 0, text]));
      }).on("error", reject);
    });

  test("is that it lives, and that it is ready as long as its store is there", async () => {
    let away = false;
    const sessions = new MemorySessions();
    const claim = () => {
      if (away) throw new StoreError("away", "gone");
      return true;
    };
    const stores = { sessions, oneTime: { claim } } as unknown as SharedStores;
    const server = createServer({ name: "told", version: "1.0.0", log: () => undefined });
    const serving = await serve(server, { port: 0, stores });
    const { port } = serving;
    expect(await status(port, "/health")).toEqual([200, '{"status":"alive"}']);
    expect(await status(port, "/ready")).toEqual([200, '{"status":"ready"}']);
    away = true;
    await until("it is not ready", async () => (await status(port, "/ready"))[0] === 503);
    expect(await status(port, "/ready")).toEqual([503, '{"status":"away"}']);
    expect(await status(port, "/health")).toEqual([200, '{"status":"alive"}']);
    away = false;
    await until("it is ready again", async () => (await status(port, "/ready"))[0] === 200);
    await serving.close();
  });

  test("is at other paths, or nowhere, where that is wished", async () => {
    const server = createServer({ name: "told", version: "1.0.0" });
    const moved = await serve(server, { port: 0, health: { ready: "/r", health: "/h" } });
    const silent = await serve(server, { port: 0, health: false });
    const [r, h, ready] = await Promise.all(
      ["/r", "/h", "/ready"].map((path) => status(moved.port, path, "localhost")),
    );
    expect([r?.[0], h?.[0], ready?.[0]]).toEqual([200, 200, 404]);
    expect((await status(silent.port, "/ready", "localhost"))[0]).toBe(404);
    await Promise.all([moved.close(), silent.close()]);
  });
});

describe("several workers on one port", () => {
  test("serve as one, are started again when they die, and end together", {
    timeout: patience,
  }, async () => {
    await using place = await placeIn("sqlite");
    await using program = new Program(
      "build/fixture/server.js",
      ...["--workers", "3", "--store", place.address],
    );
    const [, port] = await program.printed(/^listening http:\/\/127\.0\.0\.1:(\d+)\/mcp\n$/);
    const worker = overSocket({ ...none, port: Number(port) });
    const talker = await Talker.open(worker, "2025-06-18");
    const pids = new Set<number>();
    const ask = async (): Promise<number> => JSON.parse(await talker.call("whoami").text()).pid;
    await until("all three serve", async () => pids.add(await ask()).size === 3, patience);
    expect(pids).not.toContain(program.child.pid);
    const [victim = 0] = pids;
    process.kill(victim, "SIGKILL");
    await until(
      "another one serves in its place",
      async () => pids.add(await ask().catch(() => victim)).size === 4,
      patience,
    );
    program.child.kill("SIGTERM");
    expect(await program.ended, program.stderr).toEqual({ code: 0, signal: null });
    for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow();
  });

  test("need stores that they share", async () => {
    const server = createServer({ name: "alone", version: "1.0.0" });
    await expect(serve(server, { port: 0, workers: 2 })).rejects.toThrow(
      /`stores` that they share/,
    );
    await expect(serve(server, { port: 0, workers: 0 })).rejects.toThrow(RangeError);
  });
});

/** A socket, connected before it is used. */
function openConnection(port: number) {
  const socket = connect(port, "127.0.0.1");
  return {
    connected: once(socket, "connect"),
    ask: async (body: string): Promise<string> => {
      const headers = [
        "POST /mcp HTTP/1.1",
        "host: 127.0.0.1",
        "content-type: application/json",
        "accept: application/json, text/event-stream",
        "mcp-protocol-version: 2025-06-18",
        `content-length: ${body.length}`,
      ];
      let text = "";
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.write(`${headers.join("\r\n")}\r\n\r\n${body}`);
      await once(socket, "close");
      return text;
    },
  };
}
