import { describe, expect, it } from "vitest";
import { type CountedModule, closingLine } from "../support/closing-line.ts";

type State = "passed" | "failed" | "skipped" | "pending";

function moduleOf(states: readonly State[], ok = !states.includes("failed")): CountedModule {
  const tests = states.map((state) => ({ result: () => ({ state }) }));
  return { ok: () => ok, children: { allTests: () => tests } };
}

describe("the closing line", () => {
  it("counts the tests of all modules", () => {
    const modules = [moduleOf(["passed", "passed", "skipped"]), moduleOf(["failed", "passed"])];
    expect(closingLine(modules, 0)).toBe("tests: 3 passed, 1 failed, 1 skipped");
    expect(closingLine([], 0)).toBe("tests: 0 passed, 0 failed, 0 skipped");
  });

  it("counts a module that failed without a failed test as one failed", () => {
    expect(closingLine([moduleOf([], false)], 0)).toBe("tests: 0 passed, 1 failed, 0 skipped");
    const hook = moduleOf(["passed"], false);
    expect(closingLine([hook], 0)).toBe("tests: 1 passed, 1 failed, 0 skipped");
  });

  it("counts errors outside of tests as failed and tests never run as skipped", () => {
    expect(closingLine([moduleOf(["passed", "pending"])], 1)).toBe(
      "tests: 1 passed, 1 failed, 1 skipped",
    );
  });
});
