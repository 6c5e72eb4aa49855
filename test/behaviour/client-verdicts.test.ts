/** What a client keeps of a server's revision, uses, and drops. */
import { MemoryVerdicts } from "anyrev/client";
import { describe, expect, test } from "vitest";
import {
  discoverable,
  either,
  FakePeer,
  handshaking,
  noTools,
  noToolsNow,
  refusing,
  unanswering,
} from "../support/fake-peer.ts";
import { speak, versionsAsked } from "../support/speaking.ts";

describe("what was learnt of a server", () => {
  const modern = discoverable(["2026-07-28"], () => noToolsNow);
  const shaking = handshaking("2025-06-18", () => noTools);
  const older = either(refusing(-32601), shaking);

  test("spares it the first request the next time", async () => {
    const verdicts = new MemoryVerdicts();
    const peer = new FakePeer(older, "older");
    expect(await speak(peer, { verdicts })).toBe("2025-06-18");
    expect(verdicts.get("older")).toEqual({ revision: "2025-06-18" });
    expect(await speak(peer, { verdicts })).toBe("2025-06-18");
    expect(peer.methods[1]).toEqual(["initialize", "notifications/initialized", "tools/list"]);
    expect(versionsAsked(peer)).toEqual(["2025-11-25", "2025-11-25"]);
  });

  test("is kept for no server that has no name", async () => {
    const kept: string[] = [];
    const verdicts = {
      get: (key: string) => void kept.push(key),
      set: (key: string) => void kept.push(key),
      delete: (key: string) => void kept.push(key),
    };
    await speak(new FakePeer(older), { verdicts });
    expect(kept).toEqual([]);
  });

  test("R027: is dropped and found anew when the server has no handshake any more", async () => {
    const verdicts = new MemoryVerdicts();
    const peer = new FakePeer(older, "server");
    await speak(peer, { verdicts });
    peer.script = modern;
    expect(await speak(peer, { verdicts })).toBe("2026-07-28");
    expect(verdicts.get("server")).toEqual({ revision: "2026-07-28" });
    expect(peer.methods.slice(1)).toEqual([["initialize"], ["server/discover", "tools/list"]]);
  });

  test.each([
    ["refuses", older],
    ["is silent to", unanswering(() => undefined, shaking)],
    ["ends at", unanswering((line) => line.gone(), shaking)],
  ])("is dropped and found anew when the server %s what has no handshake", async (_, script) => {
    const verdicts = new MemoryVerdicts();
    const peer = new FakePeer(modern, "server");
    await speak(peer, { verdicts });
    expect(verdicts.get("server")).toEqual({ revision: "2026-07-28" });
    peer.script = script;
    expect(await speak(peer, { verdicts })).toBe("2025-06-18");
    expect(verdicts.get("server")).toEqual({ revision: "2025-06-18" });
  });

  test.each([[{ revision: "1999-01-01" }], [{}], [null], ["2025-06-18"], [{ revision: 7 }]])(
    "is not heeded where it makes no sense: %j",
    async (verdict) => {
      const verdicts = new MemoryVerdicts();
      verdicts.set("server", verdict as never);
      expect(await speak(new FakePeer(older, "server"), { verdicts })).toBe("2025-06-18");
      expect(verdicts.get("server")).toEqual({ revision: "2025-06-18" });
    },
  );

  test("is not heeded by a client that does not accept it", async () => {
    const verdicts = new MemoryVerdicts();
    verdicts.set("server", { revision: "2026-07-28" });
    const peer = new FakePeer(older, "server");
    expect(await speak(peer, { verdicts, revisions: ["2025-06-18"] })).toBe("2025-06-18");
    expect(peer.heard("server/discover")).toEqual([]);
  });

  test("may be kept where it cannot be reached, which keeps nobody from connecting", async () => {
    const failing = () => Promise.reject(new Error("the disk is full"));
    const verdicts = { get: failing, set: failing, delete: failing };
    const warnings: string[] = [];
    const onWarning = (warning: string) => warnings.push(warning);
    const peer = new FakePeer(older, "server");
    expect(await speak(peer, { verdicts, onWarning })).toBe("2025-06-18");
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/the disk is full/);
  });
});
