/** Everything a client can do, in every revision over every way, with all traffic validated. */
import type { AskRequest, ClientOptions, Progress, SampleAsked, ServerLog } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { wayRows } from "../support/client-ways.ts";
import { until, visit } from "../support/visit.ts";

const roots = [{ uri: "file:///home/ann", name: "home" }];

describe.each(wayRows())("a client in $revision over $way", (row) => {
  const { revision } = row;
  const hasStructured = revision >= "2025-06-18";
  const isModern = revision === "2026-07-28";
  /** What tells how the server asks: by rounds of the call, by pushing, or by arguments. */
  const pushesForms = revision === "2025-06-18" || revision === "2025-11-25";

  test("knows whom it speaks to, and in which revision", () =>
    visit(row, {}, async ({ client }) => {
      const { server } = client;
      expect(server.revision).toBe(revision);
      expect(server.info).toMatchObject({ name: "tour", version: "1.0.0" });
      expect(server.instructions).toBe("Look around.");
      expect(Object.keys(server.capabilities)).toEqual(
        expect.arrayContaining(["tools", "resources", "prompts"]),
      );
    }));

  test("lists every kind, all pages of it", () =>
    visit(row, {}, async ({ client, record }) => {
      const tools = await client.list("tools");
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["add", "roots"]));
      expect(tools.find(({ name }) => name === "add")?.inputSchema).toMatchObject({
        type: "object",
      });
      expect(record.count("tools/list")).toBe(Math.ceil(tools.length / 3));
      const resources = await client.list("resources");
      expect(resources.map(({ uri }) => uri)).toEqual(
        ["a", "b", "c", "d", "bytes", "caf%C3%A9"].map((name) => `note://${name}`),
      );
      const templates = await client.list("templates");
      expect(templates.map(({ uriTemplate }) => uriTemplate)).toEqual(
        ["a", "b", "c", "d"].map((name) => `${name}://{id}`),
      );
      const prompts = await client.list("prompts");
      expect(prompts.map(({ name }) => name)).toEqual(["greet", "leave", "stay", "café", "ask"]);
      expect(record.count("prompts/list")).toBe(2);
    }));

  test("calls tools: those that succeed, that fail, and that are not there", () =>
    visit(row, {}, async ({ client }) => {
      await client.list("tools");
      const added = await client.call("add", { a: 2, b: 3 });
      expect(added).toMatchObject({ isError: false, text: '{"sum":5}' });
      expect(added.structured).toEqual(hasStructured ? { sum: 5 } : undefined);
      expect(await client.call("echo", { text: "é ☕\n\u2028" })).toMatchObject({
        content: [{ type: "text", text: "é ☕\n\u2028" }],
      });
      expect(await client.call("region", { region: "eu ☕", deep: { tier: 3 } })).toMatchObject({
        text: "eu ☕",
      });
      expect((await client.call("add", { a: "x" })).isError).toBe(true);
      expect(await client.call("fail")).toMatchObject({ isError: true });
      expect(await refusal(client.call("nowhere"))).toMatchObject({
        kind: "refused",
        code: -32602,
      });
    }));

  test("reads resources as text and as bytes", () =>
    visit(row, {}, async ({ client }) => {
      expect((await client.read("note://a")).contents).toMatchObject([
        { uri: "note://a", mimeType: "text/plain", text: "note a" },
      ]);
      expect((await client.read("note://bytes")).contents).toMatchObject([{ blob: "AQID" }]);
      expect((await client.read("b://7")).contents).toMatchObject([{ text: "b of 7" }]);
      expect((await client.read("note://caf%C3%A9")).contents).toMatchObject([
        { text: "note café" },
      ]);
      const cache = isModern ? { ttlMs: 0, scope: "private" } : undefined;
      expect((await client.read("note://a")).cache).toEqual(cache);
      expect((await refusal(client.read("note://nowhere"))).kind).toBe("refused");
    }));

  test("gets prompts, and completes their arguments and those of templates", () =>
    visit(row, {}, async ({ client }) => {
      expect(await client.get("café", { whom: "ann" })).toMatchObject({
        messages: [{ role: "user", content: { type: "text", text: "café ann" } }],
      });
      expect((await refusal(client.get("greet"))).code).toBe(-32602);
      const whom = { of: "prompt", target: "greet", argument: "whom", value: "an" } as const;
      expect(await client.complete(whom)).toEqual({
        values: ["ann", "anton"],
        total: 2,
        hasMore: false,
      });
      const id = { of: "template", target: "a://{id}", argument: "id", value: "o" } as const;
      expect((await client.complete({ ...id, others: { x: "y" } })).values).toEqual([
        "one",
        "other",
      ]);
    }));

  test("hears of the changes it listens to, until it stops", () =>
    visit(row, {}, async ({ client }) => {
      const heard: unknown[] = [];
      const listening = await client.listen(
        { lists: ["tools"], uris: ["note://a", "note://b"] },
        (change) => heard.push(change),
      );
      const lists: unknown[] = [];
      const other = await client.listen({ lists: ["prompts"] }, (change) => lists.push(change));
      await client.call("touch", { uri: "note://a" });
      await client.call("touch", { uri: "note://c" });
      await client.call("add_tool");
      await until(
        () => heard,
        ({ length }) => length === 2,
      );
      expect(heard).toEqual(
        expect.arrayContaining([
          { kind: "resource-updated", uri: "note://a" },
          { kind: "list-changed", list: "tools" },
        ]),
      );
      await listening.close();
      await listening.over;
      await client.call("touch", { uri: "note://a" });
      await client.call("echo", { text: "on" });
      expect(heard).toHaveLength(2);
      expect(lists).toEqual([]);
      await other.close();
    }));

  test("hears of progress, and of what is logged at its level", () => {
    const entries: ServerLog[] = [];
    const options: ClientOptions = { logLevel: "warning", onLog: (entry) => entries.push(entry) };
    return visit(row, options, async ({ client }) => {
      const steps: Progress[] = [];
      const onProgress = (progress: Progress) => steps.push(progress);
      await client.call("steps", { n: 3, everyMs: 60 }, { onProgress });
      expect(steps).toEqual(
        [1, 2, 3].map((step) => ({
          progress: step,
          total: 3,
          message: revision === "2024-11-05" ? undefined : `step ${step}`,
        })),
      );
      await client.call("log");
      await until(
        () => entries,
        ({ length }) => length >= 2,
      );
      expect(entries).toEqual([
        { level: "warning", logger: "storage", data: { disk: "full" } },
        { level: "error", logger: undefined, data: "that was all" },
      ]);
    });
  });

  test("gives a call up by its signal, and the server hears of it", () =>
    visit(row, {}, async ({ client, tour, record }) => {
      const giveUp = new AbortController();
      const waiting = refusal(client.call("wait", { ms: 20_000 }, { signal: giveUp.signal }));
      await until(
        () => tour.begun,
        (begun) => begun === 1,
      );
      giveUp.abort(new Error("no more"));
      expect(await waiting).toMatchObject({ kind: "aborted", cause: { message: "no more" } });
      await until(
        () => tour.ends,
        ({ length }) => length === 1,
      );
      expect(tour.ends).toEqual(["cancelled"]);
      const never = await refusal(client.call("wait", { ms: 1 }, { signal: giveUp.signal }));
      expect(never.kind).toBe("aborted");
      expect(record.count("tools/call")).toBe(1);
    }));

  test("waits as long as it is told to, longer while there is progress, never beyond the cap", () =>
    visit(row, {}, async ({ client }) => {
      const late = await refusal(client.call("wait", { ms: 20_000 }, { timeoutMs: 30 }));
      expect(late).toMatchObject({ kind: "timeout" });
      const onProgress = () => undefined;
      const patient = { timeoutMs: 250, onProgress };
      const slow = await client.call("steps", { n: 4, everyMs: 80 }, patient);
      expect(slow.text).toBe("took 4 steps");
      const capped = { timeoutMs: 100, maxTimeoutMs: 150, onProgress };
      const endless = client.call("steps", { n: 1_000, everyMs: 5 }, capped);
      expect(await refusal(endless)).toMatchObject({ kind: "timeout" });
      const short = client.call("wait", { ms: 20_000 }, { maxTimeoutMs: 30 });
      expect(await refusal(short)).toMatchObject({ kind: "timeout" });
    }));

  test("answers forms, with what was left out filled in, and declines them", () => {
    const asked: AskRequest[] = [];
    let action: "accept" | "decline" | "cancel" = "accept";
    const onAsk: ClientOptions["onAsk"] = (request) => {
      asked.push(request);
      return action === "accept" ? { action, content: { name: "Ann" } } : { action };
    };
    return visit(row, { onAsk }, async ({ client, record }) => {
      expect((await client.call("ask_form")).text).toBe("Ann, 7");
      expect(asked).toMatchObject([
        {
          kind: "form",
          message: "Who are you?",
          schema: { type: "object", properties: { name: { type: "string" } } },
        },
      ]);
      action = "decline";
      expect((await client.call("ask_form")).text).toBe("decline");
      action = "cancel";
      expect((await client.call("ask_form")).text).toBe("cancel");
      expect(record.count("tools/call")).toBe(pushesForms ? 3 : 6);
    });
  });

  test("is sent to pages, where the revision can", () => {
    const asked: AskRequest[] = [];
    const onAsk: ClientOptions["onAsk"] = (request) => {
      asked.push(request);
      return { action: "accept" };
    };
    return visit(row, { onAsk }, async ({ client }) => {
      const calling = client.call("ask_url");
      if (revision < "2025-11-25") {
        expect((await refusal(calling)).kind).toBe("refused");
        expect(asked).toEqual([]);
        return;
      }
      expect((await calling).text).toBe("accept");
      const url = "https://example.com/page?x=1#y";
      expect(asked).toEqual([{ kind: "url", message: "Have a look.", url }]);
    });
  });

  test("goes through several rounds of questions, and the effect happens once", () => {
    const onAsk: ClientOptions["onAsk"] = ({ message }) => ({
      action: "accept",
      content: { name: message.replace("Name ", "").replace("?", "") },
    });
    return visit(row, { onAsk }, async ({ client, tour, record }) => {
      expect((await client.call("ask_rounds", { rounds: 4 })).text).toBe("1, 2, 3, 4");
      expect(tour.effects).toBe(1);
      expect(record.count("tools/call")).toBe(pushesForms ? 1 : 5);
      const { messages } = await client.get("ask");
      const isAsked = pushesForms || isModern;
      expect(messages).toMatchObject([
        { content: { text: isAsked ? "It is Who." : "It is nobody." } },
      ]);
    });
  });

  test("lets its model write, and tells its roots", () => {
    const asked: SampleAsked[] = [];
    const options: ClientOptions = {
      onSample: (sample) => {
        asked.push(sample);
        return { content: "Roses.", model: "poet" };
      },
      onRoots: () => roots,
    };
    return visit(row, options, async ({ client, record }) => {
      expect((await client.call("sample")).text).toBe("poet: Roses.");
      expect(asked).toMatchObject([
        { maxTokens: 9, messages: [{ role: "user", content: { text: "A poem, please." } }] },
      ]);
      expect((await client.call("roots")).text).toBe("file:///home/ann home");
      await client.rootsChanged();
      const told = record.count("notifications/roots/list_changed");
      expect(told).toBe(isModern ? 0 : 1);
    });
  });

  test("declares what it can answer, and nothing else", () =>
    visit(row, { onRoots: roots, info: { name: "me", version: "9" } }, async ({ client }) => {
      const me = JSON.parse((await client.call("whoami")).text);
      expect(me).toEqual({
        name: "me",
        version: "9",
        roots: isModern ? {} : { listChanged: true },
      });
      expect((await refusal(client.call("sample"))).kind).toBe("refused");
    }));

  test("asks whether the server is there, and reports what was refused", () =>
    visit(row, {}, async ({ client, record }) => {
      await client.ping();
      expect(record.count(isModern ? "server/discover" : "ping")).toBeGreaterThan(0);
    }));

  test("rejects what is under way when it is closed, and all that comes after", () =>
    visit(row, {}, async ({ client, tour }) => {
      const listening = await client.listen({ lists: ["tools"] }, () => undefined);
      const waiting = [1, 2, 3].map(() => refusal(client.call("wait", { ms: 20_000 })));
      await until(
        () => tour.begun,
        (begun) => begun === 3,
      );
      await client.close();
      for (const each of waiting) expect((await each).kind).toBe("closed");
      await listening.over;
      expect((await refusal(client.call("echo", { text: "late" }))).kind).toBe("closed");
      expect((await refusal(client.listen({}, () => undefined))).kind).toBe("closed");
    }));
});
