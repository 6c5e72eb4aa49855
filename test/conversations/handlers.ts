/** Handlers that ask in every way that a language lets them, in every revision and over every wire. */
import { setTimeout as delay } from "node:timers/promises";
import { createServer, type Exchange, type LogEntry, type Server } from "anyrev/node";
import { expect, it } from "vitest";
import { Conversant } from "../support/conversant.ts";
import { answerAll, columns, type Kind, mechanic, nameForm } from "../support/conversing.ts";
import { isObject, type JsonObject } from "../support/wire.ts";
import { group } from "./group.ts";

interface Declared {
  readonly server: Server;
  readonly entries: LogEntry[];
}

/** A server of one tool, that gives what its handler gives as JSON. */
function declare(run: (ex: Exchange) => unknown): Declared {
  const entries: LogEntry[] = [];
  const log = (entry: LogEntry): void => void entries.push(entry);
  const server = createServer({ name: "handlers", version: "1", log });
  server.tool("run", { asks: true }, async (_, ex) => JSON.stringify((await run(ex)) ?? null));
  return { server, entries };
}

const ask = (ex: Exchange, key: string) => ex.ask(key, { message: `${key}?`, schema: nameForm });

export const handlers = group("a handler", columns, (revision, wire) => {
  const by = (kind: Kind) => mechanic(revision, kind);
  const open = ({ server }: Declared, capabilities?: JsonObject) =>
    Conversant.open(wire, revision, server, {
      answer: answerAll((message) => `<${message}>`),
      capabilities,
    });

  it("may start two questions and wait for one after the other", async () => {
    const declared = declare(async (ex) => {
      const [one, two] = [ask(ex, "one"), ask(ex, "two")];
      return [(await one).content?.name, (await two).content?.name];
    });
    await using peer = await open(declared);
    expect(await peer.call("run")).toEqual(["<one?>", "<two?>"]);
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 2);
    expect(declared.entries).toEqual([]);
  });

  it("may ask the same twice at once, and the user is asked once", async () => {
    const declared = declare(async (ex) => {
      const both = await Promise.all([ask(ex, "same"), ask(ex, "same")]);
      const again = await ask(ex, "same");
      return [...both, again].map(({ content }) => content?.name);
    });
    await using peer = await open(declared);
    expect(await peer.call("run")).toEqual(["<same?>", "<same?>", "<same?>"]);
    expect(peer.questions).toHaveLength(1);
  });

  it("asks ten times at most, also while another question waits all the time", async () => {
    const declared = declare(async (ex) => {
      void ask(ex, "waits");
      for (let index = 0; ; index++) await ask(ex, `more ${index}`);
    });
    await using peer = await Conversant.open(wire, revision, declared.server, {
      answer: (question) =>
        question.params["message"] === "waits?" ? undefined : answerAll()(question),
    });
    const { message } = await peer.finish("tools/call", { name: "run", arguments: {} });
    expect(message["error"]).toEqual({
      code: -32603,
      message: "this call has asked 10 times and is still not done",
    });
    const asked = peer.questions.filter(({ params }) => params["message"] !== "waits?");
    expect(asked).toHaveLength(10);
  });

  it("may put an error of its own around a stop, and nobody takes that for a failure", async () => {
    const declared = declare(async (ex) => {
      try {
        return (await ask(ex, "who")).content?.name;
      } catch (cause) {
        throw new Error("asking failed", { cause });
      }
    });
    await using peer = await open(declared);
    expect(await peer.call("run")).toBe("<who?>");
    expect(declared.entries).toEqual([]);
  });

  it("may make something else of a stop, and is not taken at its word", async () => {
    const declared = declare((ex) =>
      ask(ex, "who").then(
        ({ content }) => content?.name,
        () => "nobody",
      ),
    );
    await using peer = await open(declared);
    expect(await peer.call("run")).toBe("<who?>");
  });

  it("may go on after a stop to another question, and both are asked in one round", async () => {
    const declared = declare(async (ex) => {
      const first = await ask(ex, "first").catch(() => undefined);
      return [first?.content?.name, (await ask(ex, "second")).content?.name];
    });
    await using peer = await open(declared);
    expect(await peer.call("run")).toEqual(["<first?>", "<second?>"]);
    expect(peer.rounds).toBe(by("form") === "push" ? 1 : 2);
  });

  it("may ask within what it computes once", async () => {
    let computed = 0;
    const declared = declare(async (ex) => {
      const plan = await ex.once("plan", async () => {
        const { content } = await ask(ex, "who");
        return { name: content?.name, count: ++computed };
      });
      await ask(ex, "sure");
      return [plan, await ex.once("plan", () => "another")];
    });
    await using peer = await open(declared);
    const plan = { name: "<who?>", count: 1 };
    expect(await peer.call("run")).toEqual([plan, plan]);
  });

  it("may try again to compute once what failed", async () => {
    let tries = 0;
    const declared = declare(async (ex) => {
      const compute = () =>
        ex.once("flaky", () => {
          if (++tries < 3) throw new Error(`try ${tries}`);
          return tries;
        });
      const failed = [await compute().catch(String), await compute().catch(String)];
      const value = await compute();
      await ask(ex, "who");
      return [failed.length, value, await compute()];
    });
    await using peer = await open(declared);
    expect(await peer.call("run")).toEqual([2, 3, 3]);
    // The rounds after the first find the value there.
    expect(tries).toBe(3);
  });

  it("computes once what is computed twice at once", async () => {
    let computed = 0;
    const declared = declare(async (ex) => {
      const compute = () => ex.once("slow", () => delay(1).then(() => ++computed));
      const both = await Promise.all([compute(), compute()]);
      await ask(ex, "who");
      return [...both, await compute()];
    });
    await using peer = await open(declared);
    expect(await peer.call("run")).toEqual([1, 1, 1]);
  });

  it("gets the same from what is computed once in the first round and in the last", async () => {
    const seen: unknown[] = [];
    const declared = declare(async (ex) => {
      const value = await ex.once("value", () => ({ at: new Date(0), none: undefined, list: [1] }));
      const none = await ex.once("none", () => undefined);
      seen.push([structuredClone(value), none]);
      // What is done to it here is nothing to the next round.
      value.list.push(2);
      await ask(ex, "first");
      await ask(ex, "second");
      return null;
    });
    await using peer = await open(declared);
    await peer.call("run");
    expect(seen).toHaveLength(peer.rounds);
    for (const each of seen)
      expect(each).toEqual([{ at: new Date(0).toJSON(), list: [1] }, undefined]);
  });

  it("cannot compute once what is no JSON, and learns it in the first round", async () => {
    const declared = declare((ex) => ex.once("big", () => 1n).catch((cause) => String(cause)));
    await using peer = await open(declared);
    expect(await peer.call("run")).toMatch(/BigInt/);
    expect(peer.rounds).toBe(1);
  });

  it("that asks several at once of whom one cannot be asked fails, and keeps nobody waiting", async () => {
    const declared = declare((ex) =>
      ex.askAll({
        who: { message: "who?", schema: nameForm },
        page: { message: "Go.", url: "https://example.com/" },
      }),
    );
    const { server } = declared;
    await using peer = await Conversant.open(wire, revision, server, {
      answer: () => undefined,
      capabilities: by("form") === "arguments" ? {} : { elicitation: {} },
    });
    const { message } = await peer.ask("tools/call", { name: "run", arguments: {} });
    const needed = revision === "2026-07-28" ? -32021 : expect.any(Number);
    expect(message["error"]).toMatchObject({ code: needed });
    expect(peer.told("notifications/cancelled")).toHaveLength(by("form") === "push" ? 1 : 0);
  });

  it("tells and asks nothing when it goes on after its outcome", async () => {
    let after: Promise<unknown> = Promise.resolve();
    const declared = declare((ex) => {
      after = (async () => {
        await delay(10);
        ex.log("emergency", "late");
        await ex.progress(2, 3);
        ex.detach();
        const late = [ask(ex, "who"), ex.sample("poem", { messages: "Write." }), ex.roots()];
        return Promise.allSettled(late);
      })();
      return "done";
    });
    await using peer = await open(declared);
    const params = { name: "run", arguments: {}, _meta: { progressToken: 1 } };
    const { message } = await peer.ask("tools/call", params);
    expect(isObject(message["result"])).toBe(true);
    expect(await after).toMatchObject(Array(3).fill({ status: "rejected" }));
    await peer.ask("tools/list");
    expect([peer.heard, peer.questions]).toEqual([[], []]);
  });

  it("that starts what it never waits for ends all the same, and so does the process not", async () => {
    const declared = declare((ex) => {
      void ask(ex, "who");
      void ex.once("fails", () => Promise.reject(new Error("nobody sees this")));
      void ex.once("asks", () => ask(ex, "nested"));
      return "done";
    });
    await using peer = await open(declared);
    await peer.finish("tools/call", { name: "run", arguments: {} });
    await delay(5);
  });
});
