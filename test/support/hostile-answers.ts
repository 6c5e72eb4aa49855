/** HTTP answers by a server that means no good, or cannot do better. */
import { awkwardStrings, type Random, randomJson } from "./random.ts";

/** What was asked, as far as an answer depends on it. */
export interface AskedOf {
  readonly method: string;
  readonly id: unknown;
  /** Of all calls that are under way, this one's included: their replies may be mixed up. */
  readonly ids: readonly number[];
  /** Which call's stream this is, also when it is resumed; 0 for nobody's. */
  readonly of: number;
}

export type Piece =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  | { readonly kind: "wait"; readonly ms: number }
  /** The connection breaks. */
  | { readonly kind: "break" }
  /** Nothing more comes. */
  | { readonly kind: "stall" };

export interface HostileAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly pieces: readonly Piece[];
}

/** What an honest reply says: for whom it is, and on whose connection it came. */
export interface Marker {
  readonly for: number;
  readonly on: number;
}

const statuses: readonly number[] = [
  200, 202, 204, 302, 307, 400, 401, 403, 404, 405, 422, 429, 500, 503,
];
const types: readonly string[] = [
  "application/json",
  "text/event-stream",
  "text/event-stream; charset=utf-8",
  "text/html",
  "APPLICATION/JSON",
  "",
];

export function createHostileAnswer(random: Random, asked: AskedOf): HostileAnswer {
  // Nobody can go on from an event that was spoilt on the way.
  if (asked.of === 0) return { status: 400, headers: {}, pieces: [] };
  const isStream = asked.method === "GET" || random.chance(0.6);
  const body = isStream ? streamOf(random, asked) : bodyOf(random, asked);
  const fits = random.chance(0.9);
  const type = isStream ? "text/event-stream" : "application/json";
  const headers: Record<string, string> = {};
  const named = fits ? type : random.pick(types);
  if (named !== "") headers["content-type"] = named;
  if (random.chance(0.05)) headers["retry-after"] = random.pick(["0", "1", "x", "-1", "9999999"]);
  if (random.chance(0.05)) headers["mcp-session-id"] = random.pick(["S", "a b", "~"]);
  if (random.chance(0.05))
    headers["location"] = random.pick(["/mcp", "http://evil.test/", "//[", ""]);
  return {
    status: random.chance(0.85) ? 200 : random.pick(statuses),
    headers,
    pieces: cut(random, new TextEncoder().encode(body), isStream),
  };
}

function honest(asked: AskedOf, id: number): string {
  const marker: Marker = { for: id, on: asked.of };
  return JSON.stringify({ jsonrpc: "2.0", id, result: marker });
}

function message(random: Random, asked: AskedOf): string {
  switch (random.int(12)) {
    case 0:
    case 1:
    case 2:
      return honest(asked, asked.of);
    case 3:
    case 4:
      return honest(asked, random.pick(asked.ids));
    case 5:
      return JSON.stringify({
        jsonrpc: "2.0",
        method: "notifications/x",
        params: { on: asked.of },
      });
    case 6:
      return JSON.stringify({
        jsonrpc: "2.0",
        id: random.int(99),
        method: "x",
        params: { on: asked.of },
      });
    case 7:
      return JSON.stringify({
        jsonrpc: "2.0",
        id: random.pick([null, undefined, asked.of, String(asked.of), 1.5, {}, -0]),
        error: random.pick([{ code: -32_601, message: "no" }, null, "no", { code: "x" }]),
      });
    case 8:
      return honest(asked, asked.of).slice(0, random.int(40));
    case 9:
      return JSON.stringify(randomJson(random));
    case 10:
      return `${'{"a":'.repeat(random.int(200))}1`;
    default:
      return random.pick(awkwardStrings);
  }
}

function bodyOf(random: Random, asked: AskedOf): string {
  const many = (): string[] => Array.from({ length: random.int(5) }, () => message(random, asked));
  switch (random.int(10)) {
    case 0:
      return `[${many().join(",")}]`;
    case 1:
      return "";
    case 2:
      return JSON.stringify({
        jsonrpc: "2.0",
        id: asked.of,
        result: "x".repeat(random.int(5_000)),
      });
    case 3:
      return `\ufeff ${honest(asked, asked.of)}`;
    case 4:
      return `${honest(asked, asked.of)}${message(random, asked)}`;
    default:
      return message(random, asked);
  }
}

function streamOf(random: Random, asked: AskedOf): string {
  const end = random.pick(["\n", "\n", "\r\n", "\r"]);
  const lines: string[] = [];
  for (let left = random.int(8); left > 0; left--) {
    if (random.chance(0.3))
      lines.push(`id: ${random.pick([`${asked.of}.${asked.of}-${left}`, "", "a\0", "é"])}`);
    if (random.chance(0.3))
      lines.push(`retry: ${random.pick(["0", "1", "3", "x", "99999999999"])}`);
    if (random.chance(0.2))
      lines.push(`event: ${random.pick(["message", "ping", "endpoint", ""])}`);
    if (random.chance(0.1)) lines.push(`: ${random.pick(awkwardStrings)}`);
    if (random.chance(0.03)) lines.push(`data: ${"y".repeat(4_000)}`);
    if (random.chance(0.85)) {
      for (const line of message(random, asked).split(/\r\n|\r|\n/)) lines.push(`data: ${line}`);
    }
    if (random.chance(0.9)) lines.push("");
  }
  if (random.chance(0.4))
    lines.push(`id: ${asked.of}.${asked.of}-z`, `data: ${honest(asked, asked.of)}`, "");
  return lines.map((line) => line + end).join("");
}

function cut(random: Random, bytes: Uint8Array, isStream: boolean): Piece[] {
  const pieces: Piece[] = [];
  const longest = random.pick([1, 10, 100, 10_000]);
  const most = random.chance(0.1) ? random.int(bytes.length + 1) : bytes.length;
  for (let at = 0; at < most && pieces.length < 40; ) {
    // The last piece takes the rest, so that no answer has pieces without end.
    const length = pieces.length === 39 ? most : 1 + random.int(longest);
    const piece = bytes.slice(at, Math.min(at + length, most));
    // No letter of ASCII, which could make another's reply of it.
    if (random.chance(0.01)) piece[random.int(piece.length)] = 128 + random.int(128);
    pieces.push({ kind: "bytes", bytes: piece });
    if (random.chance(0.03)) pieces.push({ kind: "wait", ms: random.int(4) });
    at += length;
  }
  const ending = random.int(isStream ? 12 : 20);
  if (ending === 0) pieces.push({ kind: "break" });
  else if (ending === 1) pieces.push({ kind: "stall" });
  return pieces;
}
