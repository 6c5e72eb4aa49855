/** What a client reads of the challenges that servers write. */
import { describe, expect, it } from "vitest";
import { readChallenges, toScopes, whatIsSaid } from "../../src/client/auth/challenges.ts";

const read = (header: string) =>
  readChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

describe("challenges are read", () => {
  it.each([
    ["", []],
    ["Bearer", [["bearer", {}]]],
    ['BEARER realm="a", Scope=b', [["bearer", { realm: "a", scope: "b" }]]],
    [
      'Bearer a="x", DPoP algs="ES256"',
      [
        ["bearer", { a: "x" }],
        ["dpop", { algs: "ES256" }],
      ],
    ],
    [
      'Basic realm="a, Bearer b=c", Bearer d="e"',
      [
        ["basic", { realm: "a, Bearer b=c" }],
        ["bearer", { d: "e" }],
      ],
    ],
    [
      'Negotiate YWJj==, Bearer a="b"',
      [
        ["negotiate", {}],
        ["bearer", { a: "b" }],
      ],
    ],
    ['Bearer a = "b" ,, c="d"', [["bearer", { a: "b", c: "d" }]]],
    [String.raw`Bearer a="say \"hi\" \\"`, [["bearer", { a: String.raw`say "hi" \ `.trim() }]]],
    ['Bearer a="first", a="second"', [["bearer", { a: "first" }]]],
    ['Bearer a="never closed', [["bearer", {}]]],
    ["=", []],
  ])("%s", (header, expected) => {
    expect(read(header)).toEqual(expected);
  });

  it("in no more time than they are long", () => {
    const began = performance.now();
    for (const piece of ['a="', "a=", "a,", ' "', "=\\", 'a="b",', "a b "]) {
      readChallenges(`Bearer ${piece.repeat(100_000)}`);
    }
    expect(performance.now() - began).toBeLessThan(1_000);
  });
});

it("of those for tokens, the first that says something is heard", () => {
  const header =
    'Basic scope="no", Bearer error="insufficient_scope", DPoP scope="a  b a", error="use_dpop_nonce", resource_metadata="https://h.test/m"';
  expect(whatIsSaid(header)).toEqual({
    metadata: "https://h.test/m",
    scopes: ["a", "b"],
    lacksScope: true,
    asksForNonce: true,
  });
  expect(whatIsSaid(undefined)).toMatchObject({ metadata: undefined, scopes: undefined });
  expect(toScopes("")).toEqual([]);
});
