/** Schemas made to hold up whoever reads them are judged at once, and nothing is ever fetched. */

import type { AddressInfo } from "node:net";
import { createServer as createTcpServer } from "node:net";
import { createServer, DeclarationError } from "anyrev/node";
import { describe, expect, it, vi } from "vitest";
import { compileSchema } from "../../src/core/schema.ts";
import { type HostileSchema, hostileSchemas } from "../support/hostile-schemas.ts";
import { Random, seedOf } from "../support/random.ts";

const seed = seedOf(process.env);
console.log(`hostile schemas: FUZZ_SEED=${seed}`);

const boundMs = 50;

/** Declares it; whether it was refused. Any error but the one for declarations goes through. */
function declare({ schema }: HostileSchema, side: "input" | "output"): boolean {
  const server = createServer({ name: "s", version: "1", log: () => undefined });
  try {
    server.tool("t", { [side]: schema }, () => ({}) as never);
    return false;
  } catch (cause) {
    if (cause instanceof DeclarationError) return true;
    throw cause;
  }
}

/** The quickest of a few tries: what else the machine does is not what is measured. */
function quickest(run: () => unknown): number {
  let least = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 8 && least > boundMs / 2; tries++) {
    const start = performance.now();
    run();
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

const instances: readonly unknown[] = [
  {},
  { a: "a".repeat(200) },
  { a: Array.from({ length: 200 }, (_, at) => at) },
  { [`${"a".repeat(40)}!`]: 1, a: null },
  Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, { a: at }])),
];

describe("a hostile schema", () => {
  it("is judged within 50 ms, alike on either side of a tool, and fetches nothing", async () => {
    const fetched = vi.spyOn(globalThis, "fetch");
    let connections = 0;
    const listening = createTcpServer((socket) => {
      connections++;
      socket.destroy();
    });
    await new Promise<void>((resolve) => listening.listen(0, "127.0.0.1", resolve));
    const origin = `http://127.0.0.1:${(listening.address() as AddressInfo).port}`;
    const all = hostileSchemas(new Random(seed), origin);
    expect(all.length).toBeGreaterThanOrEqual(200);
    try {
      let refused = 0;
      for (const each of all) {
        const what = `${each.what} (FUZZ_SEED=${seed})`;
        const isRefused = declare(each, "input");
        if (each.isRefused) expect(isRefused, what).toBe(true);
        expect(declare(each, "output"), what).toBe(isRefused);
        expect(
          quickest(() => declare(each, "input")),
          what,
        ).toBeLessThan(boundMs);
        if (isRefused) refused++;
        else judgeInstances(each, what);
      }
      expect(refused).toBeGreaterThan(150);
      await new Promise((resolve) => setTimeout(resolve, 20));
      expect(connections).toBe(0);
      expect(fetched).not.toHaveBeenCalled();
    } finally {
      fetched.mockRestore();
      listening.close();
    }
  }, 60_000);
});

/** What was taken has to judge values as soon as it was judged itself. */
function judgeInstances({ schema }: HostileSchema, what: string): void {
  const { validate } = compileSchema(schema, "input", "the schema");
  for (const instance of instances) {
    expect(
      quickest(() => validate(instance)),
      what,
    ).toBeLessThan(boundMs);
  }
}
