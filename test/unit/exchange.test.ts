import { describe, expect, it } from "vitest";
import { anyone } from "../../src/core/access.ts";
import type { Call } from "../../src/core/call.ts";
import { control, Exchange, type ExchangeContext } from "../../src/core/exchange.ts";
import type { Asking } from "../../src/core/inquiry.ts";
import type { SessionKeeper } from "../../src/core/session.ts";

const call: Call = {
  operation: { kind: "call-tool", target: "wait", arguments: {} },
  client: undefined,
  capabilities: undefined,
  meta: undefined,
  carried: undefined,
  progressToken: undefined,
  logLevel: undefined,
};

const nobody: Asking = {
  mechanic: () => "never",
  declared: () => false,
  push: () => Promise.reject(new Error("there is nobody to ask")),
};

const forgetful: SessionKeeper = {
  read: () => undefined,
  update: () => Promise.resolve(undefined),
  open: () => "",
  use: () => undefined,
  end: () => false,
};

function exchange(context: Partial<ExchangeContext> = {}, more: Partial<Call> = {}): Exchange {
  const whole: ExchangeContext = {
    access: anyone,
    session: undefined,
    keeper: forgetful,
    onDisconnect: undefined,
    asking: nobody,
    tell: undefined,
    logLevel: undefined,
    detach: undefined,
    ...context,
  };
  return new Exchange({ ...call, ...more }, whole);
}

/** A caller that can go away, and a count of who wants to hear of it. */
function connection() {
  const callbacks: (() => void)[] = [];
  return {
    onDisconnect: (callback: () => void) => {
      callbacks.push(callback);
    },
    get listeners() {
      return callbacks.length;
    },
    drop: () => {
      for (const callback of callbacks) callback();
    },
  };
}

describe("the signal of an exchange", () => {
  it("is one and the same each time, and watches the connection from its first use on", () => {
    const line = connection();
    const ex = exchange({ onDisconnect: line.onDisconnect });
    expect(line.listeners).toBe(0);
    const { signal } = ex;
    expect(signal).toBe(ex.signal);
    expect(line.listeners).toBe(1);
    expect(signal.aborted).toBe(false);
  });

  it("aborts with the reason when the call is cancelled later", () => {
    const ex = exchange();
    const heard: unknown[] = [];
    ex.signal.addEventListener("abort", () => heard.push(ex.signal.reason));
    control.cancel(ex, "no longer needed");
    expect(heard).toEqual(["no longer needed"]);
    expect(ex.cancelled).toBe(true);
  });

  it("is aborted already when the call was cancelled before anyone looked", () => {
    const line = connection();
    const ex = exchange({ onDisconnect: line.onDisconnect });
    control.cancel(ex, "early");
    expect(ex.signal.aborted).toBe(true);
    expect(ex.signal.reason).toBe("early");
    expect(line.listeners).toBe(0);
  });

  it("aborts when the caller is gone, where that cancels", () => {
    const line = connection();
    const ex = exchange({ onDisconnect: line.onDisconnect });
    const { signal } = ex;
    line.drop();
    expect([signal.aborted, ex.cancelled]).toEqual([true, true]);
  });

  it("is aborted at first use when the caller had gone before", () => {
    const ex = exchange({ onDisconnect: (callback) => callback() });
    expect(ex.signal.aborted).toBe(true);
  });

  it("never aborts for a lost connection where that cancels nothing", () => {
    expect(exchange().signal.aborted).toBe(false);
  });
});

describe("cancelling", () => {
  it("happens once: the first reason stays, and the callback is called once", () => {
    const ex = exchange();
    let calls = 0;
    control.onCancel(ex, () => calls++);
    control.cancel(ex, "first");
    control.cancel(ex, "second");
    expect(calls).toBe(1);
    expect(ex.signal.reason).toBe("first");
  });

  it("calls back at the cancel, not before", () => {
    const ex = exchange();
    let called = false;
    control.onCancel(ex, () => {
      called = true;
    });
    expect(called).toBe(false);
    control.cancel(ex, undefined);
    expect(called).toBe(true);
    expect(ex.cancelled).toBe(true);
  });
});

describe("a question that is pushed", () => {
  it("waits for two minutes unless told otherwise", async () => {
    const waits: number[] = [];
    const asking: Asking = {
      mechanic: () => "push",
      declared: () => true,
      push: (_, { timeoutMs }) => {
        waits.push(timeoutMs);
        return Promise.resolve({ action: "decline" });
      },
    };
    const ex = exchange({ asking });
    await ex.ask("sure", { message: "Sure?" });
    await ex.ask("visit", { message: "Go.", url: "https://example.com/" });
    await ex.sample("poem", { messages: "Write." }).catch(() => undefined);
    await ex.roots().catch(() => undefined);
    await ex.ask("soon", { message: "Now?", timeoutMs: 5 });
    expect(waits).toEqual([120_000, 120_000, 120_000, 120_000, 5]);
  });
});

describe("a handler", () => {
  it("holds nothing of what whoever serves its call does with it", () => {
    const names = Object.getOwnPropertyNames(Exchange.prototype);
    expect(names).toEqual(expect.arrayContaining(["ask", "once", "progress", "signal"]));
    for (const name of [...Object.keys(control), "paused"]) expect(names).not.toContain(name);
    expect(Reflect.ownKeys(exchange())).toEqual([]);
    expect(Object.keys(Exchange)).toEqual([]);
  });
});

describe("what an exchange tells of its caller", () => {
  const session = {
    id: "s",
    client: { name: "old", version: "1" },
    capabilities: { roots: {} },
    values: {},
  };

  it("is what the request says, else what the session was told", () => {
    const stated = { client: { name: "new", version: "2" }, capabilities: { sampling: {} } };
    const ex = exchange({ session }, stated);
    expect([ex.client, ex.capabilities]).toEqual([stated.client, stated.capabilities]);
    const older = exchange({ session });
    expect([older.client, older.capabilities]).toEqual([session.client, session.capabilities]);
    expect(older.session?.id).toBe("s");
  });

  it("is nothing where nobody said anything", () => {
    const ex = exchange();
    expect([ex.client, ex.capabilities, ex.meta, ex.session]).toEqual([
      undefined,
      {},
      {},
      undefined,
    ]);
  });

  it("names what the call is about", () => {
    expect(exchange().target).toBe("wait");
    const reading = { kind: "read-resource", target: "a:b" } as const;
    expect(exchange({}, { operation: reading }).target).toBe("a:b");
    const listing = { kind: "list", list: "tools", cursor: undefined } as const;
    expect(exchange({}, { operation: listing }).target).toBe("");
  });

  it("makes content as the helpers do", () => {
    const ex = exchange();
    expect(
      ex.mixed("a", ex.text("b"), ex.image("", "image/png"), ex.audio("", "audio/wav")).blocks,
    ).toHaveLength(4);
    expect(ex.failed("no").isError).toBe(true);
    expect(ex.resource({ uri: "a:b", text: "" }).blocks[0]?.type).toBe("resource");
    expect(ex.link({ uri: "a:b", name: "b" }).blocks[0]?.type).toBe("resource_link");
  });
});
