/** What stands behind the `telemetry` option, without OpenTelemetry. */
import type { Ended, Operation, Telemetry } from "anyrev";
import { createEndpoint, createServer, jsonLogs, type Server } from "anyrev/node";
import { describe, expect, test } from "vitest";
import { together } from "../../src/core/telemetry.ts";
import { SessionClock } from "../../src/server/session-clock.ts";
import { headersFor, initializeParams, notification, request } from "../support/messages.ts";
import type { Revision } from "../support/wire.ts";
import { assertReply } from "../support/wire.ts";

function declare(logger?: Parameters<typeof createServer>[0]["logger"]): Server {
  const server = createServer({ name: "watched", version: "1.0.0", logger });
  server.tool("work", {}, (_args, ex) => ex.text("done"));
  return server;
}

interface Seen {
  readonly operation: Operation;
  ended?: Ended;
}

function keeping(seen: Seen[], told: string[] = []): Telemetry {
  return {
    received(operation) {
      const one: Seen = { operation };
      seen.push(one);
      return {
        run(work) {
          told.push("in");
          try {
            return work();
          } finally {
            told.push("out");
          }
        },
        end(ended) {
          told.push("end");
          one.ended = ended;
        },
      };
    },
    sent: () => undefined,
  };
}

async function post(
  endpoint: ReturnType<typeof createEndpoint>,
  revision: Revision,
  message: unknown,
  session?: string,
): Promise<Response> {
  return endpoint.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: { ...headersFor(revision, message), ...(session && { "mcp-session-id": session }) },
      body: JSON.stringify(message),
    }),
  );
}

async function open(endpoint: ReturnType<typeof createEndpoint>, revision: Revision) {
  const hello = request(revision, "hello", "initialize", initializeParams(revision));
  const answer = await post(endpoint, revision, hello);
  assertReply(revision, hello, await answer.json());
  return answer.headers.get("mcp-session-id") ?? undefined;
}

describe("whoever watches", () => {
  test("is told of each message of an array", async () => {
    const seen: Seen[] = [];
    const endpoint = createEndpoint(declare(), { telemetry: keeping(seen) });
    const session = await open(endpoint, "2025-03-26");
    const array = [
      request("2025-03-26", 1, "ping"),
      notification("notifications/initialized"),
      request("2025-03-26", 2, "tools/call", { name: "work", arguments: {} }),
      request("2025-03-26", 3, "no/such/method"),
    ];
    const answer = await post(endpoint, "2025-03-26", array, session);
    expect(await answer.json()).toHaveLength(3);
    expect(seen.map(({ operation: { method, id, tool } }) => [method, id, tool])).toEqual([
      ["initialize", "hello", undefined],
      ["ping", 1, undefined],
      ["notifications/initialized", undefined, undefined],
      ["tools/call", 2, "work"],
      ["_OTHER", 3, undefined],
    ]);
    expect(seen[0]?.ended).toMatchObject({ sessionId: session, revision: "2025-03-26" });
    expect(seen[3]?.ended).toMatchObject({ isError: false });
    expect(seen[4]?.ended).toMatchObject({ reason: "method-not-found", code: -32601 });
  });

  test("is told of no arguments, results or credentials", async () => {
    const seen: Seen[] = [];
    const endpoint = createEndpoint(declare(), { telemetry: keeping(seen) });
    const call = request("2026-07-28", 1, "tools/call", {
      name: "work",
      arguments: { a: "canary" },
    });
    await post(endpoint, "2026-07-28", call);
    expect(seen).toHaveLength(1);
    expect(JSON.stringify(seen)).not.toMatch(/canary|done/);
  });

  test("may let a message pass, which is then answered as ever", async () => {
    const passing: Telemetry = { received: () => undefined, sent: () => undefined };
    const endpoint = createEndpoint(declare(), { telemetry: passing });
    const call = request("2026-07-28", 1, "tools/call", { name: "work", arguments: {} });
    const answer = await post(endpoint, "2026-07-28", call);
    assertReply("2026-07-28", call, await answer.json());
  });

  test("ends a watch when the call could not be served either", async () => {
    const seen: Seen[] = [];
    const endpoint = createEndpoint(
      createServer({ name: "empty", version: "1.0.0", log: () => undefined }),
      {
        telemetry: keeping(seen),
        sessionStore: {
          create: () => Promise.reject(new Error("away")),
          get: () => undefined,
          touch: () => undefined,
          save: () => false,
          delete: () => false,
        },
      },
    );
    const hello = request("2025-06-18", 1, "initialize", initializeParams("2025-06-18"));
    const answer = await post(endpoint, "2025-06-18", hello);
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expect(seen[0]?.ended).toMatchObject({ status: answer.status, reason: expect.any(String) });
  });
});

test("of two who watch, the first stands outside the second, also at the end", () => {
  const told: string[] = [];
  const named = (name: string): Telemetry => ({
    received: () => ({
      run(work) {
        told.push(`${name} in`);
        const done = work();
        told.push(`${name} out`);
        return done;
      },
      end: () => told.push(`${name} end`),
    }),
    sent: () => undefined,
  });
  const both = together(named("outer"), named("inner"));
  const watching = both?.received({ method: "ping" } as Operation);
  expect(watching?.run(() => 7)).toBe(7);
  watching?.end({});
  expect(told).toEqual([
    "outer in",
    "inner in",
    "inner out",
    "outer out",
    "outer in",
    "inner end",
    "outer out",
    "outer end",
  ]);
  expect(both?.sent({ method: "ping" } as Operation)).toBeUndefined();
});

test("a log line is written within the call's span, so that other tools find the two together", async () => {
  let within = 0;
  const depths: number[] = [];
  const telemetry: Telemetry = {
    received: () => ({
      run(work) {
        within++;
        try {
          return work();
        } finally {
          within--;
        }
      },
      end: () => undefined,
    }),
    sent: () => undefined,
  };
  const logger = jsonLogs({ level: "info", stream: { write: () => depths.push(within) } });
  const endpoint = createEndpoint(declare(logger), { telemetry });
  const call = request("2026-07-28", 1, "tools/call", { name: "work", arguments: {} });
  await post(endpoint, "2026-07-28", call);
  expect(depths).toEqual([1]);
});

test("sessions that nobody ends are timed up to a number, and then let go", () => {
  let ended = 0;
  const clock = new SessionClock(() => () => ended++, undefined);
  for (let at = 0; at < 10_005; at++) clock.begin(`session-${at}`, "2025-11-25");
  for (let at = 0; at < 10_005; at++) clock.end(`session-${at}`);
  for (let at = 0; at < 10_005; at++) clock.end(`session-${at}`);
  expect(ended).toBe(10_000);
});
