/** The connection of a pool that hears what PostgreSQL tells, when it breaks at an unlucky moment. */
import { EventEmitter } from "node:events";
import { describe, expect, test } from "vitest";
import { type PgPoolClient, toConnection } from "../../src/stores/postgres-driver.ts";

class FakeClient extends EventEmitter {
  released = 0;
  readonly #reply: (client: FakeClient) => void;

  constructor(reply: (client: FakeClient) => void) {
    super();
    this.#reply = reply;
  }

  query(): Promise<{ rows: [] }> {
    return new Promise((resolve) => {
      this.#reply(this);
      resolve({ rows: [] });
    });
  }

  release(): void {
    this.released++;
  }

  /** As a client of pg does: whoever listens is told, whether or not it waits for an answer. */
  break(): void {
    this.emit("error", new Error("Connection terminated unexpectedly"));
    this.emit("end");
  }
}

async function listen(reply: (client: FakeClient) => void = () => undefined) {
  const client = new FakeClient(reply);
  const connect = () => Promise.resolve(client as unknown as PgPoolClient);
  const told = { listens: 0, losses: 0 };
  const opening = toConnection({ connect }, true).listen(
    "events",
    {
      onNotify: () => undefined,
      onListen: () => told.listens++,
      onLost: () => told.losses++,
    },
    1_000,
  );
  const failed = await opening.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  return { client, told, failed };
}

/** Whoever is told twice listens anew twice, and has one connection that nobody gives back. */
describe("a connection that breaks", () => {
  test("as it begins to listen is told of once, by what beginning comes to", async () => {
    const refused = await listen((client) => {
      client.break();
      throw new Error("Connection terminated unexpectedly");
    });
    expect(refused.failed).toMatchObject({ code: "away" });
    expect(refused.told).toEqual({ listens: 0, losses: 0 });
    expect(refused.client.released).toBe(1);
  });

  test("right behind the reply has not begun to listen", async () => {
    const late = await listen((client) => client.break());
    expect(late.failed).toMatchObject({ code: "away" });
    expect(late.told).toEqual({ listens: 0, losses: 0 });
    expect(late.client.released).toBe(1);
  });

  test("later on is told of once, as lost", async () => {
    const { client, told, failed } = await listen();
    expect([failed, told]).toEqual([undefined, { listens: 1, losses: 0 }]);
    client.break();
    expect(told).toEqual({ listens: 1, losses: 1 });
    expect(client.released).toBe(1);
  });
});
