/** What a server writes to its event streams, when, and when it stops. */
import { createServer, type Server } from "anyrev/node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { openWorker, type StreamEvent, type Worker } from "../support/live.ts";
import { rows, sessionRows } from "../support/matrix.ts";
import { isObject, type JsonObject, type Revision } from "../support/schemas.ts";
import { createGate, type Gate, until } from "../support/signals.ts";
import { type Talk, Talker } from "../support/talk.ts";

const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

function declare(gate: Gate): Server {
  const server = createServer({ name: "streams", version: "1.0.0", log: () => undefined });
  server.resource("note://1", { name: "Note" }, () => "note");
  server.prompt("hello", { description: "Says hello." }, () => "hello");
  server.tool("tell", { description: "Tells, and waits." }, async (_, ex) => {
    await ex.progress(1, 2);
    await gate.opened;
    await ex.progress(2, 2);
    return "told";
  });
  server.tool("silent", { description: "Works in silence." }, async () => {
    await gate.opened;
    return "done";
  });
  server.tool("change", { description: "Changes everything." }, () => {
    server.changed("note://1");
    server.changed("note://2");
    server.tool("passing", { description: "Passes." }, () => "by").remove();
    server.prompt("passing", { description: "Passes." }, () => "by").remove();
    return "changed";
  });
  return server;
}

const opened: Worker[] = [];

async function open(
  kind: "fetch" | "node",
  server: Server,
  options?: Parameters<typeof openWorker>[2],
): Promise<Worker> {
  const worker = await openWorker(kind, server, options);
  opened.push(worker);
  return worker;
}

afterEach(async () => {
  vi.useRealTimers();
  for (const worker of opened.splice(0)) await worker[Symbol.asyncDispose]();
});

/** The stream of changes, in the way of the revision. */
function listen(talker: Talker): Talk {
  if (talker.revision !== "2026-07-28") return talker.listen();
  return talker.ask("subscriptions/listen", { notifications: { toolsListChanged: true } });
}

describe.each(sessionRows())(
  "in $revision over $bridge with sessions $session",
  ({ revision, bridge, session }) => {
    it("R059: events without data only begin streams that can be resumed, in 2025-11-25", async () => {
      const gate = createGate();
      const worker = await open(bridge, declare(gate), { sessions: session });
      const talker = await Talker.open(worker, revision);
      const call = talker.call("tell", {}, { token: 1 });
      await call.told("notifications/progress");
      gate.open();
      await call.result();
      const primed = revision === "2025-11-25" && session;
      const [first, ...rest] = call.events.filter(({ comment }) => comment === undefined);
      expect(isEmpty(first)).toBe(primed);
      if (primed) expect(first).toMatchObject({ data: "", id: /\S/, retry: /^\d+$/ });
      expect(rest.filter(isEmpty)).toEqual([]);
      // Where nothing can be resumed, no id says that it could.
      const resumes = session && revision >= "2025-03-26" && revision !== "2026-07-28";
      const ids = call.events.filter(({ data }) => data).map(({ id }) => id !== undefined);
      expect(new Set(ids)).toEqual(new Set([resumes]));
      expect(call.events.every(({ event }) => event === undefined || event === "message")).toBe(
        true,
      );
    });

    it("R062: a stream's headers come at once, and forbid to hold its events back", async () => {
      const gate = createGate();
      const worker = await open(bridge, declare(gate), { sessions: session });
      const talker = await Talker.open(worker, revision);
      const streams = [talker.call("tell", {}, { token: 1 })];
      if (session || revision === "2026-07-28") streams.push(listen(talker));
      for (const stream of streams) {
        const { headers, status } = await stream.live;
        expect(status).toBe(200);
        expect(headers.get("content-type")).toBe("text/event-stream");
        expect(headers.get("cache-control")).toBe("no-cache, no-transform");
        expect(headers.get("x-accel-buffering")).toBe("no");
        expect(headers.get("content-length")).toBeNull();
        expect(headers.get("content-encoding")).toBeNull();
      }
      const [call, listening] = streams;
      await call?.told("notifications/progress");
      gate.open();
      expect(await call?.text()).toBe("told");
      listening?.drop();
    });
  },
);

function resumes(revision: Revision): boolean {
  return revision > "2024-11-05" && revision < "2026-07-28";
}

function isEmpty(event: StreamEvent | undefined): boolean {
  return event !== undefined && !event.data;
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge }) => {
  it("R060: a call that says nothing for six minutes is not cut off meanwhile", async () => {
    const gate = createGate();
    // Without the timer that looks after how long all calls take.
    const worker = await open(bridge, declare(gate), { callTimeoutMs: Number.POSITIVE_INFINITY });
    const talker = await Talker.open(worker, revision);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    const call = talker.call("silent");
    await until("the call is waited for", () => vi.getTimerCount() === 1);
    vi.advanceTimersByTime(20_000);
    expect((await call.live).headers.get("content-type")).toBe("text/event-stream");
    // A call that can be come back to says that it is there, to the hub as well.
    const timers = resumes(revision) ? 2 : 1;
    await until("its stream is open", () => vi.getTimerCount() === timers);
    vi.advanceTimersByTime(340_000);
    gate.open();
    expect(await call.text()).toBe("done");
    expect(call.events.filter(({ comment }) => comment !== undefined)).toHaveLength(17);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("R060: an answer that comes in time is one JSON body, and leaves no timer", async () => {
    const gate = createGate();
    // Without the timer that looks after how long all calls take.
    const worker = await open(bridge, declare(gate), { callTimeoutMs: Number.POSITIVE_INFINITY });
    const talker = await Talker.open(worker, revision);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "setTimeout", "clearTimeout"] });
    const call = talker.call("silent");
    await until("the call is waited for", () => vi.getTimerCount() === 1);
    vi.advanceTimersByTime(19_999);
    gate.open();
    expect(await call.text()).toBe("done");
    expect((await call.live).headers.get("content-type")).toBe("application/json");
    expect(vi.getTimerCount()).toBe(0);
  });

  it("R060: a stream that only listens is kept alive at the interval that is asked for", async () => {
    const worker = await open(bridge, declare(createGate()), { keepAliveMs: 15_000 });
    const talker = await Talker.open(worker, revision);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const listening = listen(talker);
    await listening.live;
    await until("the stream is open", () => vi.getTimerCount() === 1);
    const reading = listening.rest().catch(() => []);
    const beats = () => listening.events.filter(({ comment }) => comment !== undefined).length;
    await until("its first bytes are read", () => listening.events.length > 0);
    const before = beats();
    vi.advanceTimersByTime(360_000);
    await until("all beats are read", () => beats() >= before + 24);
    expect(beats()).toBe(before + 24);
    listening.drop();
    await reading;
    await until("the beats end", () => vi.getTimerCount() === 0);
  });
});

const modern: Revision = "2026-07-28";

describe.each(["fetch", "node"] as const)("in 2026-07-28 over %s", (bridge) => {
  it("R063: a listener that will never hear anything is told so, and let go", async () => {
    const frozen = createServer({ name: "frozen", version: "1.0.0" });
    frozen.tool("add", { description: "Adds." }, () => "added");
    frozen.freeze();
    const talker = await Talker.open(await open(bridge, frozen), modern);
    const notifications = {
      toolsListChanged: true,
      promptsListChanged: true,
      resourcesListChanged: true,
      resourceSubscriptions: ["note://1"],
    };
    const listening = talker.ask("subscriptions/listen", { notifications }, { id: "l" });
    const first = await listening.told("notifications/subscriptions/acknowledged");
    expect(first["params"]).toEqual({ notifications: {}, _meta: { [subscriptionKey]: "l" } });
    expect(await listening.result()).toMatchObject({ resultType: "complete" });
    expect(listening.messages).toHaveLength(2);
  });

  it.each([9, 0, "nine", ""])(
    "R064: the listener %j is acknowledged first, hears what it asked for, and ends with a result",
    async (id) => {
      const server = declare(createGate());
      const worker = await openWorker(bridge, server);
      const talker = await Talker.open(worker, modern);
      const notifications = { promptsListChanged: true, resourceSubscriptions: ["note://1"] };
      const listening = talker.ask("subscriptions/listen", { notifications }, { id });
      const first = await listening.told("notifications/subscriptions/acknowledged");
      expect(first["params"]).toEqual({ notifications, _meta: { [subscriptionKey]: id } });
      await talker.call("change").text();
      const heard = [await listening.next(), await listening.next()];
      expect(heard.map((message) => message?.["method"]).sort()).toEqual([
        "notifications/prompts/list_changed",
        "notifications/resources/updated",
      ]);
      for (const message of heard) expect(subscriptionOf(message)).toBe(id);
      const closing = worker[Symbol.asyncDispose]();
      const reply = await listening.reply();
      await closing;
      expect(reply).toMatchObject({ id, result: { resultType: "complete" } });
      expect(isObject(reply["result"]) && isObject(reply["result"]["_meta"])).toBe(true);
      // Whatever came last came before the end, and nothing that was not asked for came at all.
      expect(listening.messages).toHaveLength(4);
    },
  );
});

function subscriptionOf(message: JsonObject | undefined): unknown {
  const { params } = message ?? {};
  const meta = isObject(params) ? params["_meta"] : undefined;
  return isObject(meta) ? meta[subscriptionKey] : undefined;
}
