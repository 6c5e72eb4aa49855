import { type Serving, serve } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Check, listScenarios, runServerSuite } from "../support/conformance.ts";

const runs = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;

/** The scenarios that must pass in each revision that has them. */
const scored: readonly string[] = [
  "caching",
  "completion-complete",
  "dns-rebinding-protection",
  "http-custom-header-server-validation",
  "http-header-validation",
  "input-required-result-unsupported-methods",
  "input-required-result-validate-input",
  "json-schema-2020-12",
  "logging-set-level",
  "ping",
  "prompts-get-embedded-resource",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-with-image",
  "prompts-list",
  "resources-list",
  "resources-read-binary",
  "resources-read-text",
  "resources-templates-read",
  "sep-2164-resource-not-found",
  "server-initialize",
  "server-session-lifecycle",
  "server-sse-multiple-streams",
  "server-stateless",
  "tools-call-audio",
  "tools-call-embedded-resource",
  "tools-call-error",
  "tools-call-image",
  "tools-call-mixed-content",
  "tools-call-simple-text",
  "tools-list",
];

const asks = "asks its caller a question during a call";
const subscribes = "subscribes to changes";
const extension = "belongs to an extension that is not served";

/** The scenarios that need what is not served, each with what that is. */
const heldOut: Readonly<Record<string, string>> = {
  "elicitation-sep1034-defaults": asks,
  "elicitation-sep1330-enums": asks,
  "input-required-result-basic-elicitation": asks,
  "input-required-result-basic-list-roots": asks,
  "input-required-result-basic-sampling": asks,
  "input-required-result-capability-check": asks,
  "input-required-result-ignore-extra-params": asks,
  "input-required-result-missing-input-response": asks,
  "input-required-result-multi-round": asks,
  "input-required-result-multiple-input-requests": asks,
  "input-required-result-non-tool-request": asks,
  "input-required-result-request-state": asks,
  "input-required-result-result-type": asks,
  "input-required-result-tampered-state": asks,
  "tools-call-elicitation": asks,
  "tools-call-sampling": asks,
  "resources-subscribe": subscribes,
  "resources-unsubscribe": subscribes,
  "server-sse-polling": "resumes a stream that was cut",
  "tools-call-with-logging": "hears log messages during a call",
  "tools-call-with-progress": "hears progress during a call",
  "sep-2640-skills-directory": extension,
  "sep-2640-skills-enumeration": extension,
  "sep-2640-skills-manifest": extension,
  "tasks-capability-negotiation": extension,
  "tasks-dispatch-and-envelope": extension,
  "tasks-lifecycle": extension,
  "tasks-mrtr-composition": extension,
  "tasks-mrtr-input": extension,
  "tasks-request-headers": extension,
  "tasks-request-state-removal": extension,
  "tasks-required-task-error": extension,
  "tasks-status-notifications": extension,
  "tasks-wire-fields": extension,
};

/** Single checks of scored scenarios, by the same rule. */
const heldOutChecks: Readonly<Record<string, string>> = {
  "sep-2575-server-rejects-undeclared-capability": asks,
  "sep-2575-missing-capability-http-400": asks,
  "sep-2575-http-server-no-independent-requests-on-stream": asks,
  "sep-2575-server-no-log-without-loglevel": "hears log messages during a call",
  "sep-2575-server-sends-subscription-ack": subscribes,
  "sep-2575-server-tags-subscription-id": subscribes,
  "sep-2575-server-honors-notification-filter": subscribes,
  "sep-2575-server-sends-prompts-list-changed-on-subscription": subscribes,
  "sep-2575-server-sends-tools-list-changed-on-subscription": subscribes,
};

let scenarios: ReadonlyMap<string, readonly string[]>;
beforeAll(async () => {
  scenarios = await listScenarios();
});

test("every scenario of the official suite is scored or held out for a reason", () => {
  const known = [...scored, ...Object.keys(heldOut)];
  expect(known.toSorted()).toEqual([...scenarios.keys()].toSorted());
});

describe.each(runs)("the official suite in %s", (revision) => {
  let serving: Serving;
  let results: ReadonlyMap<string, readonly Check[]>;
  beforeAll(async () => {
    serving = await serve(createFixture(), { port: 0 });
    results = await runServerSuite(serving.url, revision);
  });
  afterAll(() => serving.close());

  test("runs every scenario that applies", () => {
    const applicable = [...scenarios].filter(([, revisions]) => revisions.includes(revision));
    expect([...results.keys()].toSorted()).toEqual(applicable.map(([name]) => name).toSorted());
  });

  test("passes what is scored, without a warning and with a success of its own", () => {
    const missed = scored.flatMap((scenario) => {
      const checks = results.get(scenario);
      return checks === undefined ? [] : complaints(scenario, checks);
    });
    expect(missed).toEqual([]);
  });

  test("does not pass what is held out", () => {
    const passed = Object.keys(heldOut).filter((scenario) => {
      const checks = results.get(scenario);
      return checks !== undefined && complaints(scenario, checks).length === 0;
    });
    expect(passed).toEqual([]);
    const kept = [...results.values()].flat().filter(({ id }) => Object.hasOwn(heldOutChecks, id));
    expect(kept.filter(({ status }) => status === "SUCCESS")).toEqual([]);
  });
});

function complaints(scenario: string, checks: readonly Check[]): string[] {
  const judged = checks.filter(({ id }) => !Object.hasOwn(heldOutChecks, id));
  const bad = judged
    .filter(({ status }) => status === "FAILURE" || status === "WARNING")
    .map(({ id, status, errorMessage }) => `${scenario}: ${status} ${id}: ${errorMessage}`);
  const hasSuccess = judged.some(
    ({ id, status }) => status === "SUCCESS" && id !== "wire-schema-valid",
  );
  return hasSuccess ? bad : [...bad, `${scenario}: no success of its own`];
}
