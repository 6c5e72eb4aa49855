/** Which URLs a client asks, or sends its user to, for a server that names them. */
import { guardedFetch } from "anyrev/client/auth";
import { expect, it } from "vitest";
import { Asking } from "../../src/client/auth/asking.ts";

it.each([
  ["https://h.test/mcp", "https://as.test/token", true],
  ["https://h.test/mcp", "http://as.test/token", false],
  ["https://h.test/mcp", "http://127.0.0.1/token", false],
  ["https://h.test/mcp", "https://127.0.0.1/token", false],
  ["https://localhost/mcp", "https://127.0.0.1/token", true],
  ["http://127.0.0.1/mcp", "http://localhost/token", true],
  ["http://[::1]/mcp", "http://127.0.0.1/token", true],
  ["http://localhost.evil.example/mcp", "http://127.0.0.1/token", false],
  ["http://127.0.0.1/mcp", "http://as.test/token", false],
  ["http://127.0.0.1/mcp", "ftp://127.0.0.1/token", false],
  ["https://h.test/mcp", "https://me@as.test/token", false],
  ["https://h.test/mcp", "https://:secret@as.test/token", false],
  // This machine, in other words.
  ["https://h.test/mcp", "https://[::ffff:7f00:1]/token", false],
  ["https://h.test/mcp", "https://0.0.0.0/token", false],
  ["https://h.test/mcp", "https://[::]/token", false],
  ["https://h.test/mcp", "https://127.1/token", false],
  ["https://h.test/mcp", "https://localhost./token", false],
  ["https://h.test/mcp", "https://LOCALHOST/token", false],
  ["https://h.test/mcp", "https://app.localhost/token", false],
  ["https://localhost/mcp", "https://[::ffff:7f00:1]/token", false],
  ["http://localhost/mcp", "http://[::ffff:7f00:1]/token", false],
  // Networks that only this machine may reach.
  ["https://h.test/mcp", "https://10.0.0.1/token", false],
  ["https://h.test/mcp", "https://192.168.1.1./token", false],
  ["https://h.test/mcp", "https://169.254.169.254/token", false],
  ["https://h.test/mcp", "https://[fd00::1]/token", false],
  ["https://h.test/mcp", "https://[64:ff9b::a9fe:a9fe]/token", false],
  ["https://h.test/mcp", "https://8.8.8.8/token", true],
  ["https://h.test/mcp", "https://[2606:4700::1111]/token", true],
  // The user named that host themselves.
  ["https://10.0.0.1/mcp", "https://10.0.0.1:8443/token", true],
  ["https://10.0.0.1/mcp", "https://10.0.0.2/token", false],
  ["https://10.0.0.1/mcp", "http://10.0.0.1/token", false],
])("for %s, whether %s may be asked: %s", (server, url, expected) => {
  for (const options of [{}, { fetch: guardedFetch() }]) {
    const ask = () => new Asking(new URL(server), options).assertSecure(new URL(url));
    if (expected) expect(ask).not.toThrow();
    else expect(ask).toThrow("not safe");
  }
});

it.each([
  ["https://10.0.0.1/token", true],
  ["https://[fd00::1]/token", true],
  ["https://[::ffff:7f00:1]/token", false],
  ["https://0.0.0.0/token", false],
  ["https://[::]/token", false],
  ["https://127.0.0.1/token", false],
  ["https://localhost./token", false],
])("over a fetch of one's own, whether %s may be asked: %s", (url, expected) => {
  const options = { fetch: (to: URL, init: RequestInit) => fetch(to, init) };
  const ask = () => new Asking(new URL("https://h.test/mcp"), options).assertSecure(new URL(url));
  if (expected) expect(ask).not.toThrow();
  else expect(ask).toThrow("not safe");
});
