/** Listings in pages, with cursors that outlive the process and the listing they came from. */
import { createServer, type Server } from "anyrev";
import { describe, expect, it } from "vitest";
import { bridges, type Line, matrix, openLine, Peer } from "../support/peer.ts";
import { type JsonObject, revisions } from "../support/wire.ts";

const many = 10_000;

function createMany(count: number, pageSize?: number): Server {
  const server = createServer({ name: "many", version: "1", pageSize });
  for (let index = 0; index < count; index++) server.tool(`tool ${index}`, {}, () => "");
  return server;
}

async function using<T>(line: Line, run: (line: Line) => Promise<T>): Promise<T> {
  try {
    return await run(line);
  } finally {
    await line.close();
  }
}

function namesOf(result: JsonObject): string[] {
  const { tools } = result;
  if (!Array.isArray(tools)) throw new Error(`is no listing: ${JSON.stringify(result)}`);
  return tools.map(({ name }) => name);
}

async function page(peer: Peer, cursor?: unknown): Promise<{ names: string[]; next: unknown }> {
  const result = await peer.result("tools/list", cursor === undefined ? undefined : { cursor });
  return { names: namesOf(result), next: result["nextCursor"] };
}

async function walk(peer: Peer): Promise<{ names: string[]; pages: number }> {
  const names: string[] = [];
  let pages = 0;
  let cursor: unknown;
  do {
    const found = await page(peer, cursor);
    names.push(...found.names);
    cursor = found.next;
    pages++;
  } while (cursor !== undefined && pages <= many);
  return { names, pages };
}

const named = (count: number) => Array.from({ length: count }, (_, index) => `tool ${index}`);

describe.each(bridges)("paging over %s", (bridge) => {
  it("shows each of ten thousand tools once and in order, in every revision", async () => {
    await using(await openLine(bridge, createMany(many)), async (line) => {
      for (const revision of revisions) {
        const { names, pages } = await walk(await Peer.open(line, revision));
        expect(names, revision).toEqual(named(many));
        expect(pages, revision).toBe(many / 500);
      }
    });
  });
});

describe.each(matrix)("a listing of %s over %s", (revision, bridge) => {
  const small = async (server: Server, run: (peer: Peer) => Promise<void>) =>
    using(await openLine(bridge, server), async (line) => run(await Peer.open(line, revision)));

  it.each([
    [1, 1],
    [10, 1],
    [11, 2],
    [20, 2],
  ])("of %i entries has %i pages of ten, and no cursor on the last", (count, pages) =>
    small(createMany(count, 10), async (peer) => {
      expect(await walk(peer)).toEqual({ names: named(count), pages });
    }),
  );

  it("goes on in another process that declares the same", async () => {
    let cursor: unknown;
    await small(createMany(25, 10), async (peer) => {
      cursor = (await page(peer)).next;
    });
    await small(createMany(25, 10), async (peer) => {
      expect((await page(peer, cursor)).names).toEqual(named(20).slice(10));
    });
  });

  it("neither repeats nor skips what it still holds when it changes on the way", async () => {
    const server = createMany(8, 4);
    const removable = server.tool("removable", {}, () => "");
    server.tool("last", {}, () => "");
    await small(server, async (peer) => {
      const first = await page(peer);
      const second = await page(peer, first.next);
      expect(second.names).toEqual(["tool 4", "tool 5", "tool 6", "tool 7"]);
      server.tool("later", {}, () => "");
      removable.remove();
      expect((await page(peer, second.next)).names).toEqual(["last", "later"]);
    });
  });

  it("skips nothing when the entry that a cursor stands on is taken back", async () => {
    const server = createServer({ name: "few", version: "1", pageSize: 2 });
    const declared = ["a", "b", "c", "d"].map((name) => server.tool(name, {}, () => ""));
    await small(server, async (peer) => {
      const { names, next } = await page(peer);
      expect(names).toEqual(["a", "b"]);
      declared[1]?.remove();
      expect((await page(peer, next)).names).toEqual(["c", "d"]);
      // Declared anew, it stands at the end, and the cursor does not follow it there.
      server.tool("b", {}, () => "");
      expect((await page(peer, next)).names).toEqual(["c", "d"]);
      declared[2]?.remove();
      declared[3]?.remove();
      expect(await page(peer, next)).toEqual({ names: ["b"], next: undefined });
    });
  });

  it("ends quietly when all that followed was taken back", async () => {
    const server = createMany(2, 2);
    const third = server.tool("third", {}, () => "");
    await small(server, async (peer) => {
      const { next } = await page(peer);
      third.remove();
      expect(await page(peer, next)).toEqual({ names: [], next: undefined });
    });
  });

  it("refuses a cursor that it did not give out, and one of another list", async () => {
    const server = createMany(4, 2);
    server.prompt("p", {}, () => "");
    await small(server, async (peer) => {
      const { next } = await page(peer);
      const forged = [
        "",
        "0",
        "2",
        "not a cursor",
        "e30",
        Buffer.from('{"list":"tools","after":"1"}').toString("base64url"),
        Buffer.from('{"list":"tools","after":-1}').toString("base64url"),
        Buffer.from('{"list":"tools","after":1e99}').toString("base64url"),
        `${next}=`,
        `${next}A`,
      ];
      for (const cursor of forged) {
        const refused = await peer.error("tools/list", { cursor });
        expect(refused, cursor).toMatchObject({ code: -32602, status: 200 });
        expect(refused.message).toContain("cursor");
      }
      const elsewhere = await peer.error("prompts/list", { cursor: next });
      expect(elsewhere).toMatchObject({ code: -32602, status: 200 });
      for (const cursor of [null, 1, {}, []]) {
        const refused = await peer.error("tools/list", { cursor });
        expect(refused).toMatchObject({ code: -32602, status: 200 });
        expect(refused.message).toContain("params.cursor must be a string");
      }
    });
  });
});
