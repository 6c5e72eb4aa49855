/** How a client finds out what a server on a channel speaks. */

import { describe, expect, test } from "vitest";
import { refusal } from "../support/channel-client.ts";
import { connect } from "../support/connecting.ts";
import {
  discoverable,
  discovery,
  either,
  FakePeer,
  handshaking,
  noTools,
  noToolsNow,
  paramsOf,
  refusing,
  unanswering,
} from "../support/fake-peer.ts";
import { handshakes } from "../support/matrix.ts";
import { speak, versionsAsked } from "../support/speaking.ts";

describe("a server that answers discovery", () => {
  test("is spoken to in the newest revision in common, without a handshake", async () => {
    const versions = ["2030-01-01", "2026-07-28", "2025-11-25"];
    const peer = new FakePeer(discoverable(versions, () => noToolsNow));
    expect(await speak(peer)).toBe("2026-07-28");
    expect(peer.methods).toEqual([["server/discover", "tools/list"]]);
    const client = await connect(peer.target);
    expect(client.server.supported).toEqual(versions);
    await client.close();
  });

  test("R022: and names handshake revisions alone is shaken hands with", async () => {
    const peer = new FakePeer(
      either(
        ({ method }) =>
          method === "server/discover" ? { result: discovery(["2025-11-25"]) } : undefined,
        handshaking("2025-11-25", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-11-25");
    expect(peer.methods).toEqual([
      ["server/discover", "initialize", "notifications/initialized", "tools/list"],
    ]);
  });

  test("and names modern revisions alone, none of them known, may still shake hands", async () => {
    const peer = new FakePeer(
      either(
        ({ method }) =>
          method === "server/discover" ? { result: discovery(["2030-01-01"]) } : undefined,
        handshaking("2025-06-18", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-06-18");
  });

  test("and has nothing in common is given up, with both sides' versions named", async () => {
    const peer = new FakePeer(discoverable(["2030-01-01", 5, null]));
    const failed = await refusal(speak(peer));
    expect(failed).toMatchObject({ kind: "unsupported" });
    expect(failed.message).toMatch(/2030-01-01.*2026-07-28/s);
    expect(peer.last.isClosed).toBe(true);
  });

  test.each([
    ["no versions", {}],
    ["versions that are no list", { supportedVersions: "2026-07-28" }],
    ["versions that are an object", { supportedVersions: { 0: "2026-07-28" } }],
  ])("and names %s is shaken hands with", async (_, result) => {
    const peer = new FakePeer(
      either(
        ({ method }) => (method === "server/discover" ? { result } : undefined),
        handshaking("2025-03-26", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-03-26");
  });
});

describe("a server that refuses discovery", () => {
  test.each([-32600, -32601, -32602, -32603, -32000, -32001, 0, 1, -32800, 404, "x", null, 1.5])(
    "R018: with the code %j is shaken hands with, over the same line",
    async (code) => {
      const peer = new FakePeer(
        either(
          refusing(code),
          handshaking("2025-11-25", () => noTools),
        ),
      );
      expect(await speak(peer)).toBe("2025-11-25");
      expect(peer.methods).toEqual([
        ["server/discover", "initialize", "notifications/initialized", "tools/list"],
      ]);
    },
  );

  test("R018: by an error without an id is shaken hands with", async () => {
    const error = { code: -32600, message: "Say hello first." };
    const peer = new FakePeer(
      unanswering(
        (line) => line.say({ jsonrpc: "2.0", id: null, error }),
        handshaking("2025-11-25", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-11-25");
    expect(peer.lines).toHaveLength(1);
  });

  test.each([-32020, -32021])("with %d needs no handshake, and gets none", async (code) => {
    const peer = new FakePeer(either(refusing(code), handshaking("2025-11-25")));
    expect(await refusal(speak(peer))).toMatchObject({ kind: "refused", code });
    expect(peer.methods).toEqual([["server/discover"]]);
  });

  test("because of the version is asked again in one that it names", async () => {
    let isNew = false;
    const peer = new FakePeer((message, line) => {
      if (message["method"] === "server/discover" && !isNew) {
        isNew = true;
        const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
        return { error: { code: -32022, message: "Not yet.", data } };
      }
      return discoverable(["2026-07-28"], () => noToolsNow)(message, line);
    });
    expect(await speak(peer)).toBe("2026-07-28");
    expect(peer.methods).toEqual([["server/discover", "server/discover", "tools/list"]]);
  });

  test("because of the version that it then names is believed once", async () => {
    const data = { supported: ["2026-07-28"], requested: "2026-07-28" };
    const peer = new FakePeer(either(refusing(-32022, data), handshaking("2025-11-25")));
    expect(await refusal(speak(peer))).toMatchObject({ kind: "refused", code: -32022 });
    expect(peer.methods).toEqual([["server/discover", "server/discover"]]);
  });

  test("because of the version, and names older ones, is shaken hands with", async () => {
    const data = { supported: ["2025-06-18", "2024-11-05"], requested: "2026-07-28" };
    const peer = new FakePeer(
      either(
        refusing(-32022, data),
        handshaking("2025-06-18", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-06-18");
  });

  test.each([
    ["none that is known", { supported: ["2030-01-01"] }],
    ["none", {}],
    ["what is no list", { supported: "2025-11-25" }],
    ["nothing", undefined],
  ])("because of the version, and names %s, is given up", async (_, data) => {
    const peer = new FakePeer(either(refusing(-32022, data), handshaking("2025-11-25")));
    expect(await refusal(speak(peer))).toMatchObject({ kind: "unsupported" });
    expect(peer.heard("initialize")).toEqual([]);
  });
});

describe("a server that takes discovery badly", () => {
  test("R019: and is silent is opened anew after a while, and shaken hands with", async () => {
    const peer = new FakePeer(
      unanswering(
        () => undefined,
        handshaking("2025-11-25", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-11-25");
    expect(peer.methods).toEqual([
      ["server/discover", "notifications/cancelled"],
      ["initialize", "notifications/initialized", "tools/list"],
    ]);
  });

  test("R020: and ends is opened anew, and shaken hands with", async () => {
    const peer = new FakePeer(
      unanswering(
        (line) => line.gone(),
        handshaking("2025-03-26", () => noTools),
      ),
    );
    expect(await speak(peer)).toBe("2025-03-26");
    expect(peer.lines).toHaveLength(2);
  });

  test("and ends whatever is said is given up, and says how it ended", async () => {
    const peer = new FakePeer((_, line) => {
      line.gone(new Error("the disk is full"));
      return undefined;
    });
    expect(await refusal(speak(peer))).toMatchObject({
      kind: "interrupted",
      cause: { message: "the disk is full" },
    });
    expect(peer.lines).toHaveLength(2);
  });

  test("and is silent whatever is said is given up after the time for a call", async () => {
    const peer = new FakePeer(() => undefined);
    expect(await refusal(speak(peer, { timeoutMs: 60 }))).toMatchObject({ kind: "timeout" });
    expect(peer.heard("initialize")).toHaveLength(1);
    expect(peer.lines).toHaveLength(2);
    expect(peer.lines.every(({ isClosed }) => isClosed)).toBe(true);
  });
});

describe("a handshake", () => {
  test.each(handshakes)("R007: that settles on %s is held to from then on", async (version) => {
    const peer = new FakePeer(
      either(
        refusing(-32601),
        handshaking(version, () => noTools),
      ),
    );
    expect(await speak(peer)).toBe(version);
    expect(versionsAsked(peer)).toEqual(["2025-11-25"]);
    expect(peer.heard("tools/list")).toMatchObject([{ params: {} }]);
  });

  test.each([["2026-07-28"], ["2023-01-01"], [""], [5], [null], [undefined], [{ toString: 1 }]])(
    "that settles on %j is none",
    async (version) => {
      const peer = new FakePeer(either(refusing(-32601), handshaking(version)));
      expect(await refusal(speak(peer))).toMatchObject({ kind: "unsupported" });
      expect(peer.last.methods).toEqual(["server/discover", "initialize"]);
      expect(peer.last.isClosed).toBe(true);
    },
  );

  test("that is refused is an error with its code", async () => {
    const error = { code: -32603, message: "Out of order." };
    const peer = new FakePeer(() => ({ error }));
    expect(await refusal(speak(peer))).toMatchObject({
      kind: "refused",
      code: -32603,
      message: "Out of order.",
    });
  });

  test("R006: that is refused for its version is tried in one that the refusal names", async () => {
    const peer = new FakePeer((message, line) => {
      const { protocolVersion } = paramsOf(message);
      if (message["method"] !== "initialize" || protocolVersion === "2024-11-05") {
        return either(
          refusing(-32601),
          handshaking("2024-11-05", () => noTools),
        )(message, line);
      }
      const data = { supported: ["2024-11-05", "2023-01-01"], requested: protocolVersion };
      return { error: { code: -32602, message: "Unsupported protocol version", data } };
    });
    expect(await speak(peer)).toBe("2024-11-05");
    expect(versionsAsked(peer)).toEqual(["2025-11-25", "2024-11-05"]);
  });

  test("that is refused for every version is tried twice at most", async () => {
    const data = { supported: ["2024-11-05", "2025-03-26"] };
    const error = { code: -32602, message: "Unsupported protocol version", data };
    const peer = new FakePeer(() => ({ error }));
    expect(await refusal(speak(peer))).toMatchObject({ kind: "refused", code: -32602 });
    expect(versionsAsked(peer)).toEqual(["2025-11-25", "2025-03-26"]);
  });
});

describe("the revisions that a client accepts", () => {
  test.each(handshakes)("may be %s alone, which is then asked for at once", async (revision) => {
    const peer = new FakePeer(handshaking(revision, () => noTools));
    expect(await speak(peer, { revisions: revision })).toBe(revision);
    expect(versionsAsked(peer)).toEqual([revision]);
    expect(peer.heard("server/discover")).toEqual([]);
  });

  test("may be one that a server does not settle on", async () => {
    const peer = new FakePeer(handshaking("2025-03-26"));
    const failed = await refusal(speak(peer, { revisions: "2025-06-18" }));
    expect(failed).toMatchObject({ kind: "unsupported" });
    expect(failed.message).toMatch(/2025-03-26.*2025-06-18/s);
  });

  test("may be 2026-07-28 alone, so that no handshake is tried", async () => {
    const peer = new FakePeer(either(refusing(-32601), handshaking("2025-11-25")));
    const failed = await refusal(speak(peer, { revisions: "2026-07-28" }));
    expect(failed).toMatchObject({ kind: "unsupported", cause: { code: -32601 } });
    expect(peer.methods).toEqual([["server/discover"]]);
    const older = new FakePeer(discoverable(["2025-11-25"]));
    expect(await refusal(speak(older, { revisions: "2026-07-28" }))).toMatchObject({
      kind: "unsupported",
    });
  });

  test("may be several, of which the newest are asked for first", async () => {
    const peer = new FakePeer(
      either(
        refusing(-32601),
        handshaking("2024-11-05", () => noTools),
      ),
    );
    const revisions = ["2024-11-05", "2026-07-28", "2025-03-26"];
    expect(await speak(peer, { revisions })).toBe("2024-11-05");
    expect(versionsAsked(peer)).toEqual(["2025-03-26"]);
    expect(await speak(new FakePeer(discoverable(["2026-07-28"], () => noToolsNow)))).toBe(
      "2026-07-28",
    );
  });

  test.each([["2030-01-01"], [["2026-07-28", "never"]], [[]]])(
    "cannot be %j",
    async (revisions) => {
      const peer = new FakePeer(() => undefined);
      await expect(connect(peer.target, { revisions })).rejects.toThrow(RangeError);
      expect(peer.lines).toEqual([]);
    },
  );
});
