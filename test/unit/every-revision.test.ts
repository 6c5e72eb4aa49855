/** One check of a server runs in every revision, and says where it fails. */
import assert from "node:assert/strict";
import { createServer, type Server } from "anyrev";
import type { Client } from "anyrev/client";
import { connectInMemory, everyRevision, revisions } from "anyrev/testing";
import { describe, expect, it } from "vitest";

function createCounter(): Server {
  let count = 0;
  const server = createServer({ name: "counter", version: "1.0.0" });
  server.tool("count", {}, () => String(++count));
  server.tool("sure", { asks: true }, async (_, ex) => {
    return (await ex.ask("sure", { message: "Sure?" })).action;
  });
  return server;
}

async function failure(promise: Promise<unknown>): Promise<Error> {
  const error = await promise.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof Error)) throw new Error("it did not fail with an error");
  return error;
}

describe("a client in memory", () => {
  it.each(revisions)("speaks %s where it is told to", async (revision) => {
    await using client = await connectInMemory(createCounter(), { revision });
    expect(client.server.revision).toBe(revision);
    expect((await client.call("count")).text).toBe("1");
  });

  it("speaks the newest where it is not, and takes what other clients take", async () => {
    await using client = await connectInMemory(createCounter(), {
      onAsk: () => ({ action: "decline" }),
    });
    expect(client.server.revision).toBe("2026-07-28");
    expect((await client.call("sure")).text).toBe("decline");
  });
});

describe("a check in every revision", () => {
  it("gets a client of each, newest first, and closes it", async () => {
    const seen: string[] = [];
    const clients: Client[] = [];
    await everyRevision(createCounter(), (client, revision) => {
      seen.push(revision);
      clients.push(client);
      expect(client.server.revision).toBe(revision);
    });
    expect(seen).toEqual(revisions);
    for (const client of clients) {
      await expect(client.ping()).rejects.toMatchObject({ kind: "closed" });
    }
  });

  it("calls one server again and again, or a fresh one each time", async () => {
    const counts: string[] = [];
    const check = async (client: Client): Promise<void> => {
      counts.push((await client.call("count")).text);
    };
    await everyRevision(createCounter(), check);
    await everyRevision(async () => createCounter(), check);
    expect(counts).toEqual(["1", "2", "3", "4", "5", "1", "1", "1", "1", "1"]);
  });

  it("runs in some revisions only where those are named, with the options of a client", async () => {
    const answers: string[] = [];
    await everyRevision(
      createCounter(),
      async (client, revision) => {
        answers.push(`${revision} ${(await client.call("sure")).text}`);
      },
      { revisions: ["2025-06-18", "2026-07-28"], onAsk: () => ({ action: "cancel" }) },
    );
    expect(answers).toEqual(["2025-06-18 cancel", "2026-07-28 cancel"]);
  });
});

describe("a check that fails", () => {
  it("is named by its revisions, in the error that it threw itself", async () => {
    const thrown: Error[] = [];
    const error = await failure(
      everyRevision(createCounter(), (_, revision) => {
        try {
          assert.equal(revision < "2025-06-18" ? 3 : 4, 4, "three is not $& four");
        } catch (cause) {
          thrown.push(cause as Error);
          throw cause;
        }
      }),
    );
    expect(thrown).toHaveLength(2);
    expect(error).toBe(thrown[0]);
    expect(error.message).toMatch(/^in 2025-03-26, 2024-11-05: three is not \$& four/);
    expect(error).toMatchObject({ actual: 3, expected: 4 });
    expect(error.stack).toMatch(/^AssertionError.*: in 2025-03-26, 2024-11-05: three is not \$& /);
    expect(error.stack).toContain("every-revision.test.ts");
  });

  it("has every message once", async () => {
    const error = await failure(
      everyRevision(createCounter(), (_, revision) => {
        if (revision === "2025-06-18") throw new Error("no structure");
        if (revision < "2025-06-18") throw "a bare word";
      }),
    );
    expect(error.message).toBe(
      "in 2025-06-18: no structure\nin 2025-03-26, 2024-11-05: a bare word",
    );
  });

  it.each([
    ["a bare word", "a bare word"],
    ["an error that cannot be changed", Object.freeze(new Error("cold"))],
  ])("with %s is wrapped in an error", async (_, cause) => {
    const error = await failure(
      everyRevision(createCounter(), () => Promise.reject(cause), { revisions: ["2025-11-25"] }),
    );
    expect(error.cause).toBe(cause);
    expect(error.message).toMatch(/^in 2025-11-25: (?:a bare word|cold)$/);
  });

  it("has its client closed, like a server that cannot be made", async () => {
    const clients: Client[] = [];
    await failure(
      everyRevision(createCounter(), (client) => {
        clients.push(client);
        throw new Error("at once");
      }),
    );
    expect(clients).toHaveLength(5);
    for (const client of clients) {
      await expect(client.ping()).rejects.toMatchObject({ kind: "closed" });
    }
    const unmade = everyRevision(
      () => Promise.reject(new Error("no database")),
      () => undefined,
    );
    expect((await failure(unmade)).message).toBe(`in ${revisions.join(", ")}: no database`);
  });
});
