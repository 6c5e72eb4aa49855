/** The official suite with our client where servers ask who it is, its extensions included. */
import { beforeAll, describe, expect, test } from "vitest";
import { authScenarios } from "../../fixture/client-auth.ts";
import { complaints, listScenarios, runClientScenario } from "../support/conformance.ts";
import { buildFixtures, patience } from "../support/program.ts";

const command = "node build/fixture/client.js";

const newest = ["2025-11-25", "2026-07-28"];
const first = ["2025-03-26"];
const modern = ["2026-07-28"];
/** The suite runs them in whichever revision it is told to. */
const extension = ["2025-11-25", "2026-07-28"];

/** Each scenario about authorization, with the revisions that it is run in. */
const scenarios: Readonly<Record<string, readonly string[]>> = {
  "auth/2025-03-26-oauth-endpoint-fallback": first,
  "auth/2025-03-26-oauth-metadata-backcompat": first,
  "auth/authorization-server-migration": modern,
  "auth/basic-cimd": newest,
  "auth/client-credentials-basic": extension,
  "auth/client-credentials-jwt": extension,
  "auth/dpop": extension,
  "auth/dpop-nonce": extension,
  "auth/enterprise-managed-authorization": extension,
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
  "auth/token-endpoint-auth-basic": newest,
  "auth/token-endpoint-auth-none": newest,
  "auth/token-endpoint-auth-post": newest,
  "auth/wif-jwt-bearer": extension,
};

const runs = Object.entries(scenarios).flatMap(([scenario, revisions]) =>
  revisions.map((revision) => ({ scenario, revision })),
);

test("these are all scenarios of the suite for clients about authorization", async () => {
  const listed = [...(await listScenarios("client"))]
    .filter(([name]) => name.startsWith("auth/"))
    .map(([name, revisions]) => [name, revisions.includes("extension") ? extension : revisions]);
  expect(Object.fromEntries(listed.toSorted())).toEqual(scenarios);
  expect(Object.keys(authScenarios).toSorted()).toEqual(Object.keys(scenarios).toSorted());
});

describe("the official suite", () => {
  beforeAll(buildFixtures, patience);

  test.each(runs)("passes $scenario in $revision", async ({ scenario, revision }) => {
    const { checks, code } = await runClientScenario(command, scenario, revision);
    expect(complaints(scenario, checks)).toEqual([]);
    expect(code).toBe(0);
  });
});
