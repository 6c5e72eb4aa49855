/** The cap on a body counts what comes, not what was announced. */

import { describe, expect, it } from "vitest";
import { createFixture } from "../../fixture/declare.ts";
import { bridges, openBridge, sendBytes } from "../support/bridges.ts";
import { rows } from "../support/matrix.ts";
import { headersFor, request } from "../support/messages.ts";
import { openCaller, toExchanged } from "../support/raw-caller.ts";
import { assertReply } from "../support/wire.ts";

const cap = 2000;

/** A ping-like request of exactly so many bytes, most of them in letters of three bytes. */
function sized(revision: Parameters<typeof request>[0], bytes: number) {
  const build = (text: string) =>
    request(revision, 1, "tools/call", { name: "echo", arguments: { text } });
  const room = bytes - Buffer.byteLength(JSON.stringify(build("")));
  const text = "\u65e5".repeat(Math.floor(room / 3)) + "x".repeat(room % 3);
  const message = build(text);
  expect(Buffer.byteLength(JSON.stringify(message))).toBe(bytes);
  return message;
}

async function* chunked(text: string, size: number): AsyncGenerator<Uint8Array> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

describe.each(rows())("in $revision over $bridge", ({ revision, bridge: name }) => {
  it("R076: a body of exactly the cap is served, one byte more is 413, whole or in chunks", async () => {
    await using bridge = await openBridge(name, createFixture(), { maxBodyBytes: cap });
    const caller = await openCaller(bridge, revision, { session: false });
    const fits = sized(revision, cap);
    const headers = headersFor(revision, fits);
    if (revision === "2024-11-05") headers["mcp-protocol-version"] = revision;
    expect((await caller.send(fits)).status).toBe(200);
    const body = chunked(JSON.stringify(fits), 7);
    const whole = toExchanged(await bridge.send({ headers, body }));
    expect(whole.status).toBe(200);
    assertReply(revision, fits, whole.message);
    const over = sized(revision, cap + 1);
    const options = { answeredBy: "2026-07-28", echoed: null } as const;
    expect((await caller.send(over, options)).status).toBe(413);
    const cut = await bridge.send({ headers, body: chunked(JSON.stringify(over), 700) });
    expect(cut.status).toBe(413);
  });
});

describe.each(bridges)("over the %s bridge", (name) => {
  it("R076: five chunked mebibytes are 413 at the default cap", async () => {
    await using bridge = await openBridge(name, createFixture());
    const headers = { "content-type": "application/json" };
    const body = chunked("x".repeat(5 * 1024 * 1024), 65_536);
    const refused = toExchanged(await bridge.send({ headers, body }));
    expect(refused.status).toBe(413);
    assertReply("2026-07-28", { method: "a body" }, refused.message);
  });
});

it("R076: a web stream longer than its Content-Length says is stopped at the cap", async () => {
  await using bridge = await openBridge("fetch", createFixture(), { maxBodyBytes: cap });
  const headers = { "content-type": "application/json", "content-length": "10" };
  const refused = await bridge.send({ headers, body: chunked("x".repeat(cap + 1), 100) });
  expect(refused.status).toBe(413);
});

it("R076: an announced length past the cap is 413 before a byte of the body is sent", async () => {
  await using bridge = await openBridge("node", createFixture(), { maxBodyBytes: cap });
  const refused = await sendBytes(
    bridge.port,
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${cap + 1}\r\n\r\n`,
  );
  expect(refused.status).toBe(413);
});
