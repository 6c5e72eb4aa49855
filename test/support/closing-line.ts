/** A vitest reporter whose one line states the outcome in a form that scripts can read. */
import type { SerializedError } from "vitest";
import type { Reporter, TestModule } from "vitest/node";

export default class ClosingLine implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    process.stdout.write(`${closingLine(modules, unhandledErrors.length)}\n`);
  }
}

/** The part of a vitest module that is counted. */
export interface CountedModule {
  ok(): boolean;
  readonly children: {
    allTests(): Iterable<{ result(): { state: "passed" | "failed" | "skipped" | "pending" } }>;
  };
}

export function closingLine(modules: Iterable<CountedModule>, unhandledErrors: number): string {
  // An error outside every test fails the run, so a line without it would contradict the exit code.
  const count = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const module of modules) {
    let hasFailedTest = false;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test still pending was never run: the run was interrupted.
      count[state === "pending" ? "skipped" : state] += 1;
      hasFailedTest ||= state === "failed";
    }
    // The module did not load, or a hook of it failed.
    if (!module.ok() && !hasFailedTest) count.failed += 1;
  }
  return `tests: ${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`;
}
