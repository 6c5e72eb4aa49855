/** What a server allows to be kept is asked for once; nothing else is, and nothing old is given. */
import { createServer, type Server } from "anyrev";
import { type Client, type ClientOptions, connect, ResponseCache } from "anyrev/client";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { refusal } from "../support/channel-client.ts";
import { openWay, type Way, wayRows } from "../support/client-ways.ts";
import { Recording } from "../support/recording.ts";
import { until } from "../support/visit.ts";

const minute = 60_000;

interface Library {
  readonly server: Server;
  /** How often the page was read. */
  reads: number;
}

function createLibrary(scope: "public" | "private" = "private"): Library {
  const server = createServer({
    name: "library",
    version: "1.0.0",
    pageSize: 2,
    cache: { lists: { ttlMs: minute, scope }, reads: { ttlMs: minute, scope } },
    log: () => undefined,
  });
  const library: Library = { server, reads: 0 };
  for (const name of ["one", "two", "three"]) {
    server.tool(name, { output: z.object({ it: z.string() }) }, () => ({ it: name }));
  }
  server.resource("page://1", { name: "A page" }, () => `read ${++library.reads} times`);
  server.resource("page://0", { name: "No copy", cache: { ttlMs: 0, scope: "private" } }, () => "");
  server.resource("page://asks", { name: "Asks" }, async (_, ex) => {
    library.reads++;
    return (await ex.ask("sure", { message: "Sure?", default: {} })).action;
  });
  server.template("page://{+path}", { name: "Pages" }, ({ path }) => path);
  server.prompt("greet", {}, () => "Hello!");
  return library;
}

class Visitor implements AsyncDisposable {
  now = 0;
  readonly library: Library;
  readonly way: Way;
  readonly record: Recording;
  readonly cache: ResponseCache = new ResponseCache({ now: () => this.now });
  readonly clients: Client[] = [];

  constructor(library: Library, way: Way, record: Recording) {
    this.library = library;
    this.way = way;
    this.record = record;
  }

  /** A client of the same cache, which takes the server for the same each time. */
  async connect(options: ClientOptions = {}): Promise<Client> {
    const target = { ...this.record.target(this.way.target), key: "the library" };
    const revisions = this.record.revision;
    const client = await connect(target, { revisions, cache: this.cache, ...options });
    this.clients.push(client);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const client of this.clients) await client.close();
    await this.way[Symbol.asyncDispose]();
    expect(this.record.problems).toEqual([]);
  }
}

/** What a server says of itself is kept over HTTP, where it says how long. */
function discoveries(revision: string, way: string): number {
  return revision === "2026-07-28" && (way === "node" || way === "fetch") ? 1 : 0;
}

describe.each(wayRows())("a client that caches in $revision over $way", ({ revision, way }) => {
  const isModern = revision === "2026-07-28";

  async function visit(scope?: "public" | "private"): Promise<Visitor> {
    const library = createLibrary(scope);
    return new Visitor(library, await openWay(way, library.server), new Recording(revision));
  }

  test("asks again when the time is over, and each time where no server says how long", async () => {
    await using visitor = await visit();
    const { record } = visitor;
    const client = await visitor.connect();
    const lists = ["tools", "resources", "templates", "prompts"] as const;
    const ask = async (): Promise<unknown> => {
      const listed = await Promise.all(lists.map((name) => client.list(name)));
      return [listed, (await client.read("page://1")).contents];
    };
    const requests = (): number =>
      record.methods.filter((it) => /list$|read$/.test(`${it}`)).length;
    const first = await ask();
    const onceAll = requests();
    // Tools and resources have two pages each.
    expect(onceAll).toBe(7);
    visitor.now = minute - 1;
    const second = await ask();
    expect(requests()).toBe(isModern ? onceAll : 2 * onceAll);
    if (isModern) expect(second).toEqual(first);
    visitor.now = minute;
    await ask();
    expect(requests()).toBe(isModern ? 2 * onceAll : 3 * onceAll);
    expect(visitor.cache.size).toBe(isModern ? 5 + discoveries(revision, way) : 0);
  });

  test("keeps nothing that a server calls stale at once", async () => {
    await using visitor = await visit();
    const client = await visitor.connect();
    for (let times = 0; times < 2; times++) await client.read("page://0");
    expect(visitor.record.count("resources/read")).toBe(2);
  });

  test("tells how much time is left to what is read", async () => {
    await using visitor = await visit();
    const client = await visitor.connect();
    const left: unknown[] = [];
    for (const now of [0, 100]) {
      visitor.now = now;
      left.push((await client.read("page://1")).cache);
    }
    const hints = [minute, minute - 100].map((ttlMs) => ({ ttlMs, scope: "private" }));
    expect(left).toEqual(isModern ? hints : [undefined, undefined]);
  });

  test("asks where it is told to, and keeps what it gets", async () => {
    await using visitor = await visit();
    const client = await visitor.connect();
    const text = async (options = {}): Promise<unknown> =>
      Object(await client.read("page://1", options)).contents[0].text;
    expect(await text()).toBe("read 1 times");
    expect(await text({ fresh: true })).toBe("read 2 times");
    expect(await text()).toBe(isModern ? "read 2 times" : "read 3 times");
  });

  test("asks anew once it hears of a change", async () => {
    await using visitor = await visit();
    const { library } = visitor;
    const client = await visitor.connect();
    // Whoever asks because of a change is not given what it is about.
    const tools: Promise<readonly unknown[]>[] = [];
    const pages: Promise<unknown>[] = [];
    const listening = await client.listen({ lists: ["tools"], uris: ["page://1"] }, (change) => {
      if (change.kind === "list-changed") tools.push(client.list("tools"));
      else pages.push(client.read("page://1"));
    });
    await client.list("tools");
    await client.list("prompts");
    await client.read("page://1");
    library.server.tool("four", {}, () => "4");
    library.server.changed("page://1");
    await until(
      () => tools.length > 0 && pages.length > 0,
      (told) => told,
    );
    expect(await tools.at(-1)).toHaveLength(4);
    expect(await pages.at(-1)).toMatchObject({ contents: [{ text: "read 2 times" }] });
    const { length } = visitor.record.methods;
    await client.list("prompts");
    expect(visitor.record.methods.length - length).toBe(isModern ? 0 : 1);
    await listening.close();
  });

  test("gives what is private to those of one name, and what is public to all", async () => {
    for (const scope of ["private", "public"] as const) {
      await using visitor = await visit(scope);
      const { library } = visitor;
      const read = async (options: ClientOptions): Promise<number> => {
        const client = await visitor.connect(options);
        await client.read("page://1");
        return library.reads;
      };
      const reads = [
        await read({ authContext: "ann" }),
        await read({ authContext: "bob" }),
        await read({}),
        await read({}),
        await read({ authContext: () => "ann" }),
      ];
      const kept = scope === "public" ? [1, 1, 1, 1, 1] : [1, 2, 3, 4, 4];
      expect(reads).toEqual(isModern ? kept : [1, 2, 3, 4, 5]);
    }
  });

  test("is another once its credentials are another's, also while a result is on its way", async () => {
    await using visitor = await visit();
    let who = "ann";
    const client = await visitor.connect({ authContext: () => who });
    const reading = client.read("page://1");
    who = "bob";
    await reading;
    expect(visitor.cache.size).toBe(discoveries(revision, way));
    await client.read("page://1");
    await client.read("page://1");
    who = "ann";
    await client.read("page://1");
    expect(visitor.library.reads).toBe(isModern ? 3 : 4);
  });

  test("keeps no error, and nothing of what is refused now", async () => {
    await using visitor = await visit();
    const { server } = visitor.library;
    const client = await visitor.connect();
    const page = server.resource("book://1", { name: "A book" }, () => "a book");
    await client.read("book://1");
    page.remove();
    expect((await refusal(client.read("book://1", { fresh: true }))).kind).toBe("refused");
    expect((await refusal(client.read("book://1"))).kind).toBe("refused");
    server.resource("book://1", { name: "A book" }, () => "the book again");
    expect(await client.read("book://1")).toMatchObject({ contents: [{ text: "the book again" }] });
  });

  test("gives nothing to who has given up, or closed it", async () => {
    await using visitor = await visit("public");
    const client = await visitor.connect();
    await client.list("tools");
    const signal = AbortSignal.abort();
    expect((await refusal(client.list("tools", { signal }))).kind).toBe("aborted");
    await client.close();
    expect((await refusal(client.list("tools"))).kind).toBe("closed");
  });

  test("takes a request with more in its _meta for another, but for the trace context", async () => {
    await using visitor = await visit();
    const client = await visitor.connect();
    const metas = [
      {},
      { traceparent: "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", tracestate: "a=b" },
      { "com.example/tenant": "a" },
      { "com.example/tenant": "b" },
    ];
    for (const meta of [...metas, ...metas]) await client.read("page://1", { meta });
    expect(visitor.library.reads).toBe(isModern ? 3 : 8);
  });

  test("asks anew which tools there are once a call shows that it was told wrong", async () => {
    await using visitor = await visit();
    const { server } = visitor.library;
    const four = server.tool("four", {}, () => "4");
    const client = await visitor.connect();
    expect(await client.list("tools")).toHaveLength(4);
    four.remove();
    expect((await refusal(client.call("four"))).kind).toBe("refused");
    expect(await client.list("tools")).toHaveLength(3);
  });

  test("holds results against the schemas of tools that another client has listed", async () => {
    await using visitor = await visit("public");
    const { record } = visitor;
    const first = await visitor.connect();
    await first.list("tools");
    const listed = record.count("tools/list");
    const second = await visitor.connect();
    const [tool] = await second.list("tools");
    expect(record.count("tools/list")).toBe(isModern ? listed : 2 * listed);
    expect(tool?.outputSchema !== undefined).toBe(revision >= "2025-06-18");
    expect((await second.call("one")).text).toBe('{"it":"one"}');
  });
});

test.each(wayRows(["2026-07-28"]))(
  "keeps nothing that came out of questions, in $revision over $way",
  async ({ revision, way }) => {
    const library = createLibrary();
    await using visitor = new Visitor(
      library,
      await openWay(way, library.server),
      new Recording(revision),
    );
    const client = await visitor.connect({ onAsk: () => ({ action: "accept" }) });
    for (let times = 0; times < 2; times++) {
      const read = await client.read("page://asks");
      expect(read).toMatchObject({ contents: [{ text: "accept" }] });
      expect(read.cache).toBeUndefined();
    }
    // Each reading takes two rounds.
    expect(library.reads).toBe(4);
    expect(visitor.cache.size).toBe(discoveries(revision, way));
  },
);

describe.each(wayRows(["2025-06-18", "2026-07-28"]))(
  "a client that knows the tools in $revision over $way",
  ({ revision, way }) => {
    test("looks at them again before it takes a result for wrong, once they have changed", async () => {
      const { server } = createLibrary();
      await using opened = await openWay(way, server);
      const record = new Recording(revision);
      await using client = await connect(record.target(opened.target), { revisions: revision });
      const one = server.tool("shape", { output: z.object({ a: z.int() }) }, () => ({ a: 1 }));
      await client.list("tools");
      expect((await client.call("shape")).structured).toEqual({ a: 1 });
      const heard: unknown[] = [];
      await client.listen({ lists: ["tools"] }, (change) => heard.push(change));
      one.remove();
      server.tool("shape", { output: z.object({ b: z.int() }) }, () => ({ b: 2 }));
      await until(
        () => heard.length,
        (length) => length > 0,
      );
      const listed = record.count("tools/list");
      expect((await client.call("shape")).structured).toEqual({ b: 2 });
      expect(record.count("tools/list")).toBeGreaterThan(listed);
      const listedAgain = record.count("tools/list");
      expect((await client.call("shape")).structured).toEqual({ b: 2 });
      expect(record.count("tools/list")).toBe(listedAgain);
      expect(record.problems).toEqual([]);
    });
  },
);
