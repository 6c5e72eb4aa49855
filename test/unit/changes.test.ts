import {
  createServer,
  type Declared,
  type EventHub,
  type LogEntry,
  MemoryHub,
  type Server,
} from "anyrev";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Changes } from "../../src/core/changes.ts";
import type { Change } from "../../src/core/notice.ts";
import { ChangeFeed } from "../../src/server/changes.ts";

const tools: Change = { kind: "list-changed", list: "tools" };
const prompts: Change = { kind: "list-changed", list: "prompts" };
const note = (uri: string): Change => ({ kind: "resource-updated", uri });

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});

afterEach(() => {
  vi.useRealTimers();
});

describe("Changes of a server", () => {
  it("that come together are told once each, in the order in which they first came", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    changes.listen((change) => heard.push(change));
    for (let at = 0; at < 100; at++) {
      for (const change of [tools, note("a:1"), prompts, note("a:2")]) changes.add(change);
    }
    expect(heard).toEqual([]);
    vi.advanceTimersByTime(10);
    expect(heard).toEqual([tools, note("a:1"), prompts, note("a:2")]);
    vi.advanceTimersByTime(1_000);
    expect(heard).toHaveLength(4);
  });

  it("are told again when they come again later", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    changes.listen((change) => heard.push(change));
    for (let at = 0; at < 3; at++) {
      changes.add(tools);
      vi.advanceTimersByTime(10);
    }
    expect(heard).toEqual([tools, tools, tools]);
  });

  it("are told within ten milliseconds, however fast they keep coming", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    changes.listen((change) => heard.push(change));
    for (let at = 0; at < 50; at++) {
      changes.add(tools);
      vi.advanceTimersByTime(1);
    }
    expect(heard.length).toBeGreaterThanOrEqual(4);
  });

  it("keep a resource apart from a list of the same name", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    changes.listen((change) => heard.push(change));
    changes.add(tools);
    changes.add(note("tools"));
    vi.advanceTimersByTime(10);
    expect(heard).toEqual([tools, note("tools")]);
  });

  it("are told to everybody who listens, and to nobody who has stopped", () => {
    const changes = new Changes();
    const [one, two]: [Change[], Change[]] = [[], []];
    const stop = changes.listen((change) => one.push(change));
    changes.listen((change) => two.push(change));
    changes.add(tools);
    stop();
    stop();
    vi.advanceTimersByTime(10);
    expect([one, two]).toEqual([[], [tools]]);
  });

  it("are told once to those who pass them on to the same, for as long as any of them does", () => {
    const changes = new Changes();
    const [shared, apart] = [{}, {}];
    const heard: string[] = [];
    const listen = (name: string, on: object) => changes.listen(() => heard.push(name), on);
    const stops = [listen("first", shared), listen("second", shared), listen("alone", apart)];
    for (const stop of stops) {
      changes.add(tools);
      vi.advanceTimersByTime(10);
      stop();
    }
    expect(heard).toEqual(["first", "alone", "second", "alone", "alone"]);
    expect(changes.listeners).toBe(0);
    listen("again", shared);
    changes.add(tools);
    vi.advanceTimersByTime(10);
    expect(heard.at(-1)).toBe("again");
  });

  it("may end a listener's listening while they are told", () => {
    const changes = new Changes();
    const heard: Change[] = [];
    const stop = changes.listen((change) => {
      heard.push(change);
      stop();
    });
    changes.add(tools);
    changes.add(prompts);
    vi.advanceTimersByTime(10);
    expect(heard).toEqual([tools]);
  });

  it("set no timer while nobody listens, and are not told to who comes later", () => {
    const changes = new Changes();
    changes.add(tools);
    expect(vi.getTimerCount()).toBe(0);
    const heard: Change[] = [];
    changes.listen((change) => heard.push(change));
    vi.advanceTimersByTime(1_000);
    expect(heard).toEqual([]);
  });
});

describe("A server that is served", () => {
  const declarations: Readonly<Record<string, (server: Server) => Declared>> = {
    tool: (server) => server.tool("t", {}, () => "t"),
    prompt: (server) => server.prompt("p", {}, () => "p"),
    resource: (server) => server.resource("a:1", { name: "a" }, () => "a"),
    template: (server) => server.template("a:{b}", { name: "a" }, () => "a"),
  };

  it.each(["tool", "prompt", "resource", "template"])(
    "tells that its list changed when a %s comes and when it goes",
    (what) => {
      const server = createServer({ name: "n", version: "1" });
      const heard: Change[] = [];
      server.changes.listen((change) => heard.push(change));
      const list = what === "template" ? "resources" : `${what}s`;
      const declared = declarations[what]?.(server);
      vi.advanceTimersByTime(10);
      expect(heard).toEqual([{ kind: "list-changed", list }]);
      expect(declared?.remove()).toBe(true);
      vi.advanceTimersByTime(10);
      expect(heard).toHaveLength(2);
      // What was gone already changes nothing.
      expect(declared?.remove()).toBe(false);
      vi.advanceTimersByTime(10);
      expect(heard).toHaveLength(2);
    },
  );
});

describe("The feed of changes", () => {
  const refuse = (): never => {
    throw new Error("the hub is down");
  };

  it.each<[string, EventHub["publish"]]>([
    ["throws", refuse],
    ["rejects", () => Promise.reject(new Error("the hub is down"))],
  ])("logs what it cannot publish where the hub %s, and goes on", async (_, publish) => {
    const entries: LogEntry[] = [];
    const server = createServer({ name: "n", version: "1", log: (entry) => entries.push(entry) });
    const whole = new MemoryHub();
    let isDown = true;
    const hub: EventHub = {
      publish: (...args) => (isDown ? publish(...args) : whole.publish(...args)),
      position: (topic) => whole.position(topic),
      exists: (topic) => whole.exists(topic),
      follow: (...args) => whole.follow(...args),
      delete: (topic) => whole.delete(topic),
    };
    const feed = new ChangeFeed(server, hub);
    const heard: Change[] = [];
    const { signal } = new AbortController();
    await feed.follow(await feed.position(), (change) => heard.push(change), signal);
    server.changed("a:1");
    await vi.advanceTimersByTimeAsync(10);
    isDown = false;
    server.changed("a:2");
    await vi.advanceTimersByTimeAsync(10);
    expect(entries).toEqual([
      expect.objectContaining({ level: "error", cause: expect.any(Error) }),
    ]);
    expect(heard).toEqual([note("a:2")]);
    feed.close();
    expect(server.changes.listeners).toBe(0);
  });
});
