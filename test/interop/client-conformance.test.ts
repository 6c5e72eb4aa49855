/** The official suite with our client: each scenario starts it as a program of its own. */
import { beforeAll, describe, expect, test } from "vitest";
import { complaints, listScenarios, runClientScenario } from "../support/conformance.ts";
import { buildFixtures, patience } from "../support/program.ts";

const command = "node build/fixture/client.js";

/** Each scenario that is of no extension, with its revisions. */
const scenarios: Readonly<Record<string, readonly string[]>> = {
  "elicitation-sep1034-client-defaults": ["2025-11-25"],
  "http-custom-headers": ["2026-07-28"],
  "http-invalid-tool-headers": ["2026-07-28"],
  "http-standard-headers": ["2026-07-28"],
  initialize: ["2025-06-18", "2025-11-25"],
  "json-schema-2020-12-preservation": ["2025-11-25", "2026-07-28"],
  "json-schema-ref-no-deref": ["2026-07-28"],
  "request-metadata": ["2026-07-28"],
  "sep-2322-client-request-state": ["2026-07-28"],
  "sse-retry": ["2025-11-25"],
  tools_call: ["2025-06-18", "2025-11-25", "2026-07-28"],
};

const runs = Object.entries(scenarios).flatMap(([scenario, revisions]) =>
  revisions.map((revision) => ({ scenario, revision })),
);

test("these are all scenarios of the suite for clients but those about authorization", async () => {
  const listed = [...(await listScenarios("client"))].filter(
    ([name, revisions]) => !name.startsWith("auth/") && !revisions.includes("extension"),
  );
  expect(Object.fromEntries(listed.toSorted())).toEqual(scenarios);
});

describe("the official suite", () => {
  beforeAll(buildFixtures, patience);

  test.each(runs)("passes $scenario in $revision", async ({ scenario, revision }) => {
    const { checks, code } = await runClientScenario(command, scenario, revision);
    expect(complaints(scenario, checks)).toEqual([]);
    expect(code).toBe(0);
  });
});
