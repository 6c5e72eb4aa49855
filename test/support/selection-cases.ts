/** Everything that selection can depend on, in all the ways worth telling apart. */
export const dates = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
export const handshakeDates = dates.slice(1);
const unknown = "1999-01-01";

export const pins: readonly string[] = [
  "",
  ...dates.map((date) => `mcp=${date}`),
  `mcp=${unknown}`,
  "mcp=",
  "mcp=2025-06-18&mcp=2026-07-28",
  "mcp=2025-06-18&mcp=2025-06-18",
];

export const versionHeaders: readonly (string | undefined)[] = [
  undefined,
  ...dates,
  unknown,
  "  2025-11-25\t",
  "2026-07-28, 2026-07-28",
  "2025-06-18,2025-06-18",
  "2025-06-18, 2025-11-25",
];

/** What a message has as `params._meta`; undefined for no `_meta` at all. */
export const metas: readonly unknown[] = [
  undefined,
  ...[...dates, unknown, "", 20260728, null].map(metaStating),
  "2026-07-28",
];

export const methods = ["tools/list", "initialize", "server/discover"] as const;
export type Method = (typeof methods)[number];

export const shapes = [
  "single",
  "agree",
  "disagree",
  "one-states",
  "empty",
  "unparseable",
] as const;
export type Shape = (typeof shapes)[number];

export const sets: readonly (readonly string[])[] = [
  dates,
  ["2026-07-28"],
  ["2025-11-25"],
  ["2025-06-18", "2025-03-26"],
  ["2026-07-28", "2025-11-25"],
  handshakeDates,
];

function metaStating(version: unknown): unknown {
  return {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {},
  };
}

function message(id: number, method: Method, meta: unknown): unknown {
  const handshake =
    method === "initialize"
      ? {
          protocolVersion: "2025-06-18",
          capabilities: {},
          clientInfo: { name: "cases", version: "1" },
        }
      : {};
  const params = { ...handshake, ...(meta !== undefined && { _meta: meta }) };
  return { jsonrpc: "2.0", id, method, params };
}

export function bodyText(shape: Shape, method: Method, meta: unknown): string {
  const first = message(1, method, meta);
  switch (shape) {
    case "single":
      return JSON.stringify(first);
    case "agree":
      return JSON.stringify([first, message(2, method, meta)]);
    case "disagree":
      return JSON.stringify([first, message(2, method, metaStating("2025-11-25"))]);
    case "one-states":
      return JSON.stringify([message(2, method, undefined), first]);
    case "empty":
      return "[]";
    case "unparseable":
      return `${JSON.stringify(first)},`;
  }
}

/** Numbers from 0 up to 1 that look random and are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    // mulberry32, by Tommy Ettinger; any generator would do that is not Math.random.
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
