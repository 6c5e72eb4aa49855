/** The official suite with our client where servers ask who it is, its extensions included. */
import { beforeAll, describe, expect, test } from "vitest";
import { authScenarios } from "../../fixture/client-auth.ts";
import {
  type ClientRun,
  complaints,
  listScenarios,
  runClientSuite,
} from "../support/conformance.ts";
import { buildFixtures, patience } from "../support/program.ts";

const command = "node build/fixture/client.js";

/** All that a revision requires, and what the suite has besides; the first two have no such list. */
const selections: Readonly<Record<string, readonly string[]>> = {
  "2025-03-26": ["--suite", "all", "--spec-version", "2025-03-26"],
  "2025-06-18": ["--suite", "all", "--spec-version", "2025-06-18"],
  "2025-11-25": ["--requirements", "2025-11-25"],
  "2026-07-28": ["--requirements", "2026-07-28"],
};

const newest = ["2025-11-25", "2026-07-28"];
const first = ["2025-03-26"];
const since2025 = ["2025-06-18", ...newest];
const modern = ["2026-07-28"];

/** Each scenario about authorization, with the revisions that it is run in. */
const scenarios: Readonly<Record<string, readonly string[]>> = {
  "auth/2025-03-26-oauth-endpoint-fallback": first,
  "auth/2025-03-26-oauth-metadata-backcompat": first,
  "auth/authorization-server-migration": modern,
  "auth/basic-cimd": newest,
  "auth/client-credentials-basic": newest,
  "auth/client-credentials-jwt": newest,
  "auth/dpop": newest,
  "auth/dpop-nonce": newest,
  "auth/enterprise-managed-authorization": newest,
  "auth/iss-normalized": modern,
  "auth/iss-not-advertised": modern,
  "auth/iss-supported": modern,
  "auth/iss-supported-missing": modern,
  "auth/iss-unexpected": modern,
  "auth/iss-wrong-issuer": modern,
  "auth/metadata-default": newest,
  "auth/metadata-issuer-mismatch": modern,
  "auth/metadata-var1": newest,
  "auth/metadata-var2": newest,
  "auth/metadata-var3": newest,
  "auth/offline-access-not-supported": modern,
  "auth/offline-access-scope": modern,
  "auth/pre-registration": newest,
  "auth/resource-mismatch": modern,
  "auth/scope-from-scopes-supported": newest,
  "auth/scope-from-www-authenticate": newest,
  "auth/scope-omitted-when-undefined": newest,
  "auth/scope-retry-limit": newest,
  "auth/scope-step-up": newest,
  "auth/token-endpoint-auth-basic": since2025,
  "auth/token-endpoint-auth-none": since2025,
  "auth/token-endpoint-auth-post": since2025,
  "auth/wif-jwt-bearer": newest,
};

test("these are all scenarios of the suite for clients about authorization", async () => {
  // Those of extensions belong to no revision, and are run with each that has a list.
  const listed = [...(await listScenarios("client"))]
    .filter(([name]) => name.startsWith("auth/"))
    .map(([name, revisions]) => [name, revisions.includes("extension") ? newest : revisions]);
  expect(Object.fromEntries(listed.toSorted())).toEqual(scenarios);
  expect(Object.keys(authScenarios).toSorted()).toEqual(Object.keys(scenarios).toSorted());
});

describe.each(Object.entries(selections))("the official suite in %s", (revision, selection) => {
  const own = Object.keys(scenarios).filter((name) => scenarios[name]?.includes(revision));
  let runs: ReadonlyMap<string, ClientRun>;
  beforeAll(async () => {
    await buildFixtures();
    runs = await runClientSuite(command, ...selection);
  }, patience * 2);

  test.each(own)("passes %s", (scenario) => {
    const { checks, printed } = runs.get(scenario) ?? { checks: [], printed: "" };
    expect(complaints(scenario, checks)).toEqual([]);
    expect(printed).toContain("went as it should");
  });

  test("has nothing else about authorization", () => {
    const found = [...runs.keys()].filter((name) => name.startsWith("auth/"));
    expect(found.toSorted()).toEqual(own);
  });
});
