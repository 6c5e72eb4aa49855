/** How serving over stdio ends: in order, in time, and whoever is to blame. */
import { PassThrough, Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { createServer, type Exchange, type Server, serveStdio } from "anyrev/node";
import { describe, expect, test, vi } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { request } from "../support/messages.ts";
import { openPipe } from "../support/pipe.ts";
import { revisions } from "../support/wire.ts";

const quiet = () => createFixture({ log: () => undefined });
const line = (message: object) => `${JSON.stringify(message)}\n`;
const call = (id: number, name: string, args: object = {}) =>
  request("2025-03-26", id, "tools/call", { name, arguments: args });

/** A server with one tool that never returns, and looks at its signal or does not. */
function hanging(): { readonly server: Server; readonly entered: Promise<Exchange> } {
  const server = createServer({ name: "hanging", version: "1", log: () => undefined });
  const entered = new Promise<Exchange>((resolve) => {
    server.tool("hang", { description: "Never returns." }, (_, ex) => {
      resolve(ex);
      return new Promise<string>(() => undefined);
    });
  });
  return { server, entered };
}

async function took(ending: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await ending;
  return performance.now() - startedAt;
}

/** An output of which the test decides when what was written is read. */
function slowReader(): { readonly output: Writable; readonly read: () => void } {
  const waiting: (() => void)[] = [];
  let isReading = false;
  const output = new Writable({
    write: (_chunk, _encoding, done) => void (isReading ? done() : waiting.push(done)),
  });
  const read = (): void => {
    isReading = true;
    for (const done of waiting.splice(0)) done();
  };
  return { output, read };
}

describe("at the end of its input, serving over stdio", () => {
  test.each(revisions)("ends at once in %s when nothing runs", async (revision) => {
    const pipe = openPipe(quiet(), { drainMs: 60_000 });
    await pipe.end.open(revision);
    pipe.end.end();
    expect(await took(pipe.served)).toBeLessThan(1_900);
    expect(pipe.end.problems).toEqual([]);
  });

  test("ends at once when there was none", async () => {
    const pipe = openPipe(quiet(), { drainMs: 60_000 });
    pipe.end.end();
    expect(await took(pipe.served)).toBeLessThan(1_900);
  });

  test("R105: lets a call in flight finish and writes its answer", async () => {
    const pipe = openPipe(quiet(), { drainMs: 2_000 });
    const { end } = pipe;
    const calling = call(1, "echo", { text: "late", delayMs: 100 });
    end.expect("2025-03-26", { ...calling });
    end.write(line(calling));
    end.end();
    await pipe.served;
    expect(end.received).toMatchObject([{ id: 1, result: { content: [{ type: "text" }] } }]);
    expect(end.problems).toEqual([]);
  });

  test("R105: cancels what lasts longer, answers that, and ends within two seconds", async () => {
    const { server, entered } = hanging();
    const input = new PassThrough();
    const output = new PassThrough();
    const served = serveStdio(server, { input, output });
    input.write(line(call(1, "hang")));
    const { signal } = await entered;
    input.end();
    expect(await took(served)).toBeLessThan(1_900);
    expect(signal.aborted).toBe(true);
    expect(JSON.parse(String(output.read()))).toMatchObject({ id: 1, error: { code: -32800 } });
  });

  test("ends within two seconds when what it wrote is not read", async () => {
    const { output } = slowReader();
    const input = new PassThrough();
    const served = serveStdio(quiet(), { input, output });
    input.end(line(call(1, "add", { a: 1, b: 2 })));
    expect(await took(served)).toBeLessThan(1_900);
  });

  test("waits until what it wrote is read", async () => {
    const { output, read } = slowReader();
    const input = new PassThrough();
    let isServed = false;
    const served = serveStdio(quiet(), { input, output }).then(() => {
      isServed = true;
    });
    input.end(line(call(1, "add", { a: 1, b: 2 })));
    await delay(100);
    expect(isServed).toBe(false);
    read();
    expect(await took(served)).toBeLessThan(1_900);
  });

  test("leaves the input alone: it is not read any more", async () => {
    const stopping = new AbortController();
    const input = new PassThrough();
    const output = new PassThrough();
    const served = serveStdio(quiet(), { input, output, signal: stopping.signal });
    input.write(line(call(1, "add", { a: 1, b: 2 })));
    await delay(20);
    stopping.abort();
    await served;
    expect(String(output.read())).toContain('"id":1');
    expect(input.listenerCount("data")).toBe(0);
    expect(input.isPaused()).toBe(true);
    input.write(line(call(2, "add", { a: 1, b: 2 })));
    await delay(20);
    expect(output.read()).toBeNull();
  });
});

describe("serving over stdio", () => {
  test("is ended by a signal as by the end of its input", async () => {
    const stopping = new AbortController();
    const pipe = openPipe(quiet(), { signal: stopping.signal, drainMs: 2_000 });
    const { end } = pipe;
    const calling = call(1, "echo", { text: "late", delayMs: 100 });
    end.expect("2025-03-26", { ...calling });
    end.write(line(calling));
    await delay(10);
    stopping.abort();
    await pipe.served;
    expect(end.received).toMatchObject([{ id: 1, result: {} }]);
    const early = AbortSignal.abort();
    expect(await took(openPipe(quiet(), { signal: early }).served)).toBeLessThan(1_900);
  });

  test("R105: ends when its output breaks, and aborts what ran for it", async () => {
    const { server, entered } = hanging();
    const output = new Writable({
      write: (_chunk, _encoding, done) =>
        done(Object.assign(new Error("write EPIPE"), { code: "EPIPE" })),
    });
    const input = new PassThrough();
    const served = serveStdio(server, { input, output, drainMs: 60_000 });
    input.write(line(call(1, "hang")));
    const { signal } = await entered;
    input.write(line(request("2025-03-26", 2, "ping")));
    expect(await took(served)).toBeLessThan(1_900);
    expect(signal.aborted).toBe(true);
    expect(input.listenerCount("data")).toBe(0);
  });

  test("ends when its output is closed", async () => {
    const pipe = openPipe(quiet(), { drainMs: 60_000 });
    await pipe.end.ask("2025-03-26", "ping");
    pipe.output.destroy();
    expect(await took(pipe.served)).toBeLessThan(1_900);
  });

  test("ends when its input breaks", async () => {
    const pipe = openPipe(quiet());
    await pipe.end.ask("2025-03-26", "ping");
    pipe.input.destroy(new Error("read ECONNRESET"));
    expect(await took(pipe.served)).toBeLessThan(1_900);
  });

  test("ends for a client that asks and asks and never reads", async () => {
    const { output } = slowReader();
    const input = new PassThrough();
    const served = serveStdio(quiet(), { input, output, maxQueuedBytes: 100_000 });
    const calling = line(call(1, "echo", { text: "x".repeat(60_000) }));
    input.write(calling);
    await delay(20);
    expect(output.writableLength).toBeLessThan(130_000);
    input.write(calling);
    expect(await took(served)).toBeLessThan(1_900);
    expect(output.writableLength).toBeLessThan(400_000);
  });

  test("writes once for all that is answered in one tick", async () => {
    const written: string[] = [];
    const output = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        written.push(chunk.toString());
        done();
      },
    });
    const input = new PassThrough();
    const served = serveStdio(quiet(), { input, output });
    const ids = [1, 2, 3, 4, 5];
    input.write(ids.map((id) => line(call(id, "add", { a: id, b: id }))).join(""));
    await delay(20);
    expect(written).toHaveLength(1);
    input.write(line(call(6, "add", { a: 1, b: 1 })));
    await delay(20);
    expect(written).toHaveLength(2);
    input.end();
    await served;
  });

  test("R106: sends what a handler writes to the console elsewhere, until it ends", async () => {
    const server = createServer({ name: "loud", version: "1" });
    server.tool("shout", { description: "Writes to the console." }, () => {
      console.log("on the console");
      return "shouted";
    });
    const log = vi.spyOn(console, "log").mockReturnValue(undefined);
    const error = vi.spyOn(console, "error").mockReturnValue(undefined);
    try {
      const pipe = openPipe(server, { guardConsole: true });
      await pipe.end.ask("2025-03-26", "tools/call", { name: "shout" });
      expect(error).toHaveBeenCalledWith("on the console");
      expect(log).not.toHaveBeenCalled();
      pipe.end.end();
      await pipe.served;
      console.log("again");
      expect(log).toHaveBeenCalledWith("again");
    } finally {
      log.mockRestore();
      error.mockRestore();
    }
  });
});
