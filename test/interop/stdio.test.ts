/** The official clients with the fixture as their child. */
import { StdioClientTransport as Stdio2 } from "@modelcontextprotocol/client/stdio";
import { StdioClientTransport as Stdio1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { beforeAll, describe, expect, test } from "vitest";
import { callEveryTool, type Walker, walkWithSdk1, walkWithSdk2 } from "../support/every-tool.ts";
import { buildFixtures, patience, root } from "../support/program.ts";
import type { Revision } from "../support/wire.ts";

const child = (...args: string[]) => ({
  command: process.execPath,
  args: ["build/fixture/server.js", "--stdio", ...args],
  cwd: root,
});

beforeAll(buildFixtures, patience);

async function walk(walker: Walker, revision: Revision, sessions: boolean): Promise<void> {
  try {
    expect(walker.negotiated).toBe(revision);
    const texts = await callEveryTool(walker);
    expect(texts.get("add")).toBe('{"sum":3}');
    expect(texts.get("whoami")).toContain("official-client");
    expect(texts.get("recall")).toBe(JSON.stringify({ value: sessions ? "v" : null }));
    if (revision >= "2025-06-18") {
      expect(JSON.parse(texts.get("ask_twice") ?? "")).toMatchObject({
        first: "Ada",
        second: "Ada",
        count: 1,
        effects: 1,
      });
      expect(texts.get("test_elicitation")).toContain('"username":"Ada"');
      expect(walker.asked).toContain("elicitation/create");
      expect(await walker.getPrompt("test_input_required_result_prompt")).toMatchObject({
        messages: [{ content: { text: "The context is Ada." } }],
      });
    }
    expect(texts.get("test_sampling")).toBe("LLM response: Ada");
    expect(texts.get("test_input_required_result_list_roots")).toBe("There are 1 roots.");
    expect(walker.problems).toEqual([]);
  } finally {
    await walker.close();
  }
}

describe("the 1.x client over stdio", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const)(
    "calls every tool in %s",
    async (revision) => {
      const transport = new Stdio1(child("--revisions", revision));
      await walk(await walkWithSdk1(transport, revision), revision, true);
    },
  );
});

describe("the 2.x client over stdio", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const)(
    "calls every tool in %s, as a client of that time",
    async (revision) => {
      const walker = await walkWithSdk2(new Stdio2(child()), revision, {
        versionNegotiation: { mode: "legacy" },
        supportedProtocolVersions: [revision],
      });
      await walk(walker, revision, true);
    },
  );

  test.each(["auto", { pin: "2026-07-28" }] as const)(
    "calls every tool in 2026-07-28 with the mode %o",
    async (mode) => {
      const options = { versionNegotiation: { mode } };
      const walker = await walkWithSdk2(new Stdio2(child()), "2026-07-28", options);
      await walk(walker, "2026-07-28", false);
    },
  );

  test("falls back to the handshake where that is all there is", async () => {
    const options = { versionNegotiation: { mode: "auto" } } as const;
    const transport = new Stdio2(child("--revisions", "2025-06-18"));
    await walk(await walkWithSdk2(transport, "2025-06-18", options), "2025-06-18", true);
  });
});
