import { type Serving, serve } from "anyrev/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { type Check, complaints, listScenarios, runServerSuite } from "../support/conformance.ts";

const runs = ["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"] as const;

/** The scenarios of extensions that are not served; all others must pass where they apply. */
const extensions: readonly string[] = [
  "sep-2640-skills-directory",
  "sep-2640-skills-enumeration",
  "sep-2640-skills-manifest",
  "tasks-capability-negotiation",
  "tasks-dispatch-and-envelope",
  "tasks-lifecycle",
  "tasks-mrtr-composition",
  "tasks-mrtr-input",
  "tasks-request-headers",
  "tasks-request-state-removal",
  "tasks-required-task-error",
  "tasks-status-notifications",
  "tasks-wire-fields",
];

let scenarios: ReadonlyMap<string, readonly string[]>;
beforeAll(async () => {
  scenarios = await listScenarios("server");
});

test("the scenarios of extensions are those that apply in no revision", () => {
  const elsewhere = [...scenarios].filter(([, revisions]) =>
    runs.every((run) => !revisions.includes(run)),
  );
  expect(elsewhere.map(([name]) => name).toSorted()).toEqual(extensions);
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

  test("passes them all, without a warning and with a success of its own", () => {
    const missed = [...results].flatMap(([scenario, checks]) => complaints(scenario, checks));
    expect(missed).toEqual([]);
  });
});
