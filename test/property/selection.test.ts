/** What holds for selection whatever arrives. */
import {
  type Adapter,
  AdapterSet,
  adapter2025_11_25,
  adapter2026_07_28,
  allRevisions,
  Rejection,
  readPreamble,
  type Selection,
  select,
} from "anyrev/node";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

const versionKey = "io.modelcontextprotocol/protocolVersion";
const dates = allRevisions.supported;

/** Dates that are served, near misses, and anything else. */
const version = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...dates) },
  { weight: 2, arbitrary: fc.constantFrom("", "latest", "2025-11-2", "2026-07-28x", "__proto__") },
  { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
);

const message = fc.record(
  {
    jsonrpc: fc.constant("2.0"),
    id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
    method: fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom("initialize", "tools/list") },
      { weight: 1, arbitrary: fc.jsonValue() },
    ),
    params: fc.oneof(
      fc.record({ _meta: fc.record({ [versionKey]: version }) }),
      fc.record({ _meta: fc.record({ [versionKey]: fc.jsonValue() }) }),
      fc.record({ _meta: fc.jsonValue() }),
      fc.jsonValue(),
    ),
  },
  { requiredKeys: [] },
);

const json = fc
  .oneof(
    { weight: 4, arbitrary: message },
    { weight: 1, arbitrary: fc.array(message, { maxLength: 4 }) },
    { weight: 1, arbitrary: fc.jsonValue() },
  )
  .map((value) => new TextEncoder().encode(JSON.stringify(value)));

const bytes = fc.oneof(
  { weight: 8, arbitrary: json },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) },
  { weight: 1, arbitrary: json.map((whole) => whole.subarray(0, whole.byteLength >> 1)) },
);

const headerValue = fc.oneof(
  version,
  fc.tuple(version, version).map((both) => both.join(", ")),
  version.map((value) => ` ${value}\t`),
);

const headers = fc.oneof(
  fc.constant({}),
  fc.record(
    {
      "mcp-protocol-version": headerValue,
      "mcp-session-id": fc.string(),
      "mcp-method": fc.string(),
    },
    { requiredKeys: [] },
  ),
);

const query = fc.oneof(
  { weight: 6, arbitrary: fc.constant("") },
  version.map((value) => `mcp=${encodeURIComponent(value)}`),
  fc.tuple(version, version).map(([a, b]) => `mcp=${a}&x=1&mcp=${b}`),
  fc.string({ unit: "binary" }),
);

const session = fc.oneof(fc.constant(undefined), version);

const set = fc
  .subarray([...allRevisions.adapters], { minLength: 1 })
  .map((adapters) => new AdapterSet(adapters));

const input = fc.record({ bytes, headers, query, session });
type Input = typeof input extends fc.Arbitrary<infer Value> ? Value : never;

type Came = { readonly selected: Selection } | { readonly refused: Rejection };

/** Any other error than a Rejection goes through, and fails the property. */
function run(given: Input, adapters: AdapterSet): Came {
  const preamble = readPreamble(given.bytes, given.headers, given.query);
  try {
    return { selected: select(preamble, adapters, given.session) };
  } catch (error) {
    if (error instanceof Rejection) return { refused: error };
    throw error;
  }
}

/** All that there is to an outcome, in a form that can be compared. */
function summary(came: Came): unknown {
  if ("refused" in came) return came.refused.failure;
  const { adapter, revision, reason } = came.selected;
  return { speaks: adapter.revision, revision, reason };
}

describe("Selection", () => {
  test("comes to a selection or a Rejection for every body, header and query", () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(input, set, (given, adapters) => {
        const came = run(given, adapters);
        seen.add("refused" in came ? came.refused.kind : came.selected.reason);
      }),
      { numRuns: 2_000 },
    );
    // The property would be empty if what it generates never reached a rule.
    const rules = ["unparseable", "pin", "body", "header", "initialize", "session", "assumed"];
    const refusals = ["unsupported-revision", "header-mismatch", "invalid-version"];
    expect([...seen].sort()).toEqual([...rules, ...refusals].sort());
  });

  test("depends on what is given alone, and leaves it as it was", () => {
    fc.assert(
      fc.property(input, set, (given, adapters) => {
        const before = { bytes: given.bytes.slice(), headers: { ...given.headers } };
        const first = summary(run(given, adapters));
        expect(summary(run(given, adapters))).toEqual(first);
        expect(given.bytes).toEqual(before.bytes);
        expect({ ...given.headers }).toEqual(before.headers);
      }),
    );
  });

  test("takes headers from a record of any case, a Headers object or a lookup alike", () => {
    const cased = (name: string) =>
      fc
        .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
        .map((uppers) =>
          [...name].map((char, at) => (uppers[at] ? char.toUpperCase() : char)).join(""),
        );
    const visible = headerValue.filter((value) => /^[\t\x20-\x7e]*$/.test(value));
    fc.assert(
      fc.property(bytes, visible, cased("mcp-protocol-version"), (body, value, name) => {
        const outcome = (given: Parameters<typeof readPreamble>[1]) => {
          const preamble = readPreamble(body, given);
          try {
            const { revision, reason } = select(preamble, allRevisions);
            return { revision, reason };
          } catch (error) {
            if (error instanceof Rejection) return error.failure;
            throw error;
          }
        };
        const plain = outcome((asked) => (asked === "mcp-protocol-version" ? value : undefined));
        expect(outcome({ [name]: value })).toEqual(plain);
        expect(outcome(new Headers([[name, value]]))).toEqual(plain);
      }),
    );
  });

  test("never selects what the endpoint does not serve", () => {
    fc.assert(
      fc.property(input, set, (given, adapters) => {
        const came = run(given, adapters);
        if ("refused" in came) {
          const { kind, supported } = came.refused;
          if (kind === "unsupported-revision") expect(supported).toEqual(adapters.supported);
          return;
        }
        const { adapter, revision } = came.selected;
        expect(adapters.adapters).toContain(adapter);
        expect(adapters.supported).toContain(revision);
        expect(adapter.claims).toContain(revision);
      }),
    );
  });

  test("lets a pin decide over whatever else a parseable message states", () => {
    const pinned = fc.constantFrom(...dates);
    const around = fc.constantFrom("", "tenant=a", "MCP=2024-11-05", "mcpx=1");
    fc.assert(
      fc.property(input, json, pinned, around, (given, body, pin, other) => {
        const pins = `${other}&mcp=${pin}`;
        const came = run({ ...given, bytes: body, query: pins }, allRevisions);
        expect(summary(came)).toEqual({ speaks: pin, revision: pin, reason: "pin" });
      }),
    );
  });

  test("reads a pin as a URL writes it, percent-encoded or not", () => {
    const encoded = (text: string) =>
      fc
        .array(fc.boolean(), { minLength: text.length, maxLength: text.length })
        .map((escapes) =>
          [...text]
            .map((char, at) => (escapes[at] ? `%${char.charCodeAt(0).toString(16)}` : char))
            .join(""),
        );
    const pin = fc
      .constantFrom(...dates)
      .chain((date) => fc.tuple(encoded("mcp"), encoded(date), fc.constant(date)));
    fc.assert(
      fc.property(pin, fc.constantFrom("", "?"), ([name, value, date], mark) => {
        const body = new TextEncoder().encode("{}");
        const { revision } = select(
          readPreamble(body, {}, `${mark}${name}=${value}`),
          allRevisions,
        );
        expect(revision).toBe(date);
      }),
    );
  });
});

describe("A set of adapters", () => {
  test("is the same whatever the order in which its adapters are given", () => {
    const shuffled = fc.shuffledSubarray([...allRevisions.adapters], { minLength: 1 });
    fc.assert(
      fc.property(input, shuffled, (given, adapters) => {
        const sorted = [...adapters].sort((a, b) => (a.revision < b.revision ? 1 : -1));
        const one = new AdapterSet(adapters);
        const other = new AdapterSet(sorted);
        expect(one.adapters).toEqual(other.adapters);
        expect(one.newest).toBe(sorted[0]);
        expect(summary(run(given, one))).toEqual(summary(run(given, other)));
      }),
    );
  });

  test("lists every version that is served, newest first, each found and no other", () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([...dates], { minLength: 1 }), version, (kept, asked) => {
        const narrowed = allRevisions.narrow([...kept, kept[0]!]);
        expect(narrowed.supported).toEqual(dates.filter((date) => kept.includes(date)));
        expect(narrowed.handshakes).toEqual(
          narrowed.supported.filter((date) => date !== "2026-07-28"),
        );
        expect(narrowed.hasModern).toBe(kept.includes("2026-07-28"));
        expect(narrowed.find(asked)?.revision).toBe(kept.includes(asked) ? asked : undefined);
      }),
    );
  });

  test("refuses to be empty, to claim a date twice, and to be narrowed to a stranger", () => {
    expect(() => new AdapterSet([])).toThrow(RangeError);
    expect(() => allRevisions.narrow([])).toThrow(RangeError);
    expect(() => allRevisions.narrow(["1999-01-01"])).toThrow(/1999-01-01/);
    expect(() => allRevisions.with(adapter2025_11_25)).toThrow(/2025-11-25/);
  });

  test("gives an adapter of one's own every date that it claims", () => {
    const day = fc.constantFrom("2026-09-01", "2026-10-15", "2027-01-01", "2027-06-30");
    const claims = fc.uniqueArray(day, { minLength: 1 });
    const base = fc.constantFrom(adapter2025_11_25, adapter2026_07_28);
    const place = fc.constantFrom("pin", "body", "header", "session");
    fc.assert(
      fc.property(claims, base, place, (claimed, { ...spoken }, where) => {
        const own: Adapter = { ...spoken, revision: claimed[0]!, claims: claimed };
        const adapters = allRevisions.with(own);
        expect(adapters.supported).toEqual([...[...claimed].sort().reverse(), ...dates]);
        for (const date of claimed) {
          const meta = where === "body" ? { _meta: { [versionKey]: date } } : {};
          const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: meta });
          const preamble = readPreamble(
            new TextEncoder().encode(body),
            where === "header" ? { "MCP-Protocol-Version": date } : {},
            where === "pin" ? `mcp=${date}` : "",
          );
          const session = where === "session" ? date : undefined;
          const { adapter, revision, reason } = select(preamble, adapters, session);
          expect({ adapter, revision, reason }).toEqual({
            adapter: own,
            revision: date,
            reason: where,
          });
        }
      }),
    );
  });
});
