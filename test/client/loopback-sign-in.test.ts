/** A user who signs in with the browser of this machine, and whoever else finds the port. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import {
  isHere,
  type LoopbackSignInOptions,
  loopbackSignIn,
  uriOf,
} from "../../src/node/loopback-sign-in.ts";
import { absolutePath, browserCommand, openBrowser } from "../../src/node/open-browser.ts";
import { until } from "../support/signals.ts";

const never = new AbortController().signal;

/** A sign-in that has begun: where it comes back to, and what its user was shown. */
async function begin(options: LoopbackSignInOptions = {}, signal: AbortSignal = never) {
  const printed: string[] = [];
  const opened: string[] = [];
  const signIn = loopbackSignIn({
    print: (text) => void printed.push(text),
    open: (url) => void opened.push(url.href),
    ...options,
  });
  const start = async (state: string) => {
    const back = await signIn.redirectUri();
    const url = new URL("https://as.test/authorize");
    url.searchParams.set("redirect_uri", back);
    url.searchParams.set("state", state);
    const came = signIn.authorize(url, { signal });
    came.catch(() => undefined);
    await until("the user was shown it", () => printed.some((text) => text.endsWith(url.href)));
    return { back, came, url };
  };
  return { signIn, start, printed, opened, ...(await start("right")) };
}

/** For what `fetch` would not send. */
const statusOf = (port: string, method: string, path: string, headers: Record<string, string>) =>
  new Promise<number | undefined>((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.once("error", reject);
    asked.end();
  });

const isClosed = (back: string) =>
  until("it listens no more", () =>
    fetch(back).then(
      () => false,
      () => true,
    ),
  );

describe("signing in", () => {
  test("shows the page, opens it, and takes what the user comes back with", async () => {
    const { back, came, printed, opened, url } = await begin();
    expect(back).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect([printed, opened]).toEqual([[`Sign in at ${url.href}`], [url.href]]);
    const answer = await fetch(`${back}?code=c%201&state=right&iss=https%3A%2F%2Fas.test`);
    expect(await answer.text()).toContain("You are signed in.");
    const { headers } = answer;
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(Object.fromEntries(await came)).toEqual({
      code: "c 1",
      state: "right",
      iss: "https://as.test",
    });
    await isClosed(back);
  });

  test("hands over an error too, and repeats nothing of it", async () => {
    const { back, came } = await begin();
    const script = encodeURIComponent("<script>alert(1)</script>");
    const answer = await fetch(`${back}?error=${script}&state=right&error_description=${script}`);
    const text = await answer.text();
    expect(text).toContain("The sign-in failed.");
    expect(text).not.toContain("script");
    expect((await came).get("error")).toBe("<script>alert(1)</script>");
  });

  test("goes on where there is no browser, and where opening it fails", async () => {
    for (const open of [
      () => {
        throw new Error("none");
      },
      () => Promise.reject(new Error("none")),
    ]) {
      const { back, came } = await begin({ open });
      await fetch(`${back}?code=c&state=right`);
      expect((await came).get("code")).toBe("c");
    }
  });

  test("comes back to the port and the path that were given", async () => {
    const free = await begin();
    await fetch(`${free.back}?state=right`);
    await isClosed(free.back);
    const port = Number(new URL(free.back).port);
    const { back, came } = await begin({ port, path: "/signed-in" });
    expect(back).toBe(`http://127.0.0.1:${port}/signed-in`);
    await fetch(`${back}?code=c&state=right`);
    expect((await came).get("code")).toBe("c");
  });

  test("keeps two that run side by side apart, on one port", async () => {
    const { back, came, start } = await begin();
    const other = await start("other");
    expect(other.back).toBe(back);
    await fetch(`${back}?code=1&state=right`);
    expect((await came).get("code")).toBe("1");
    await fetch(`${back}?code=2&state=other`);
    expect((await other.came).get("code")).toBe("2");
    await isClosed(back);
  });

  test("waits for one that was told where to come back to while another ended", async () => {
    const { signIn, back, came, start } = await begin();
    expect(await signIn.redirectUri()).toBe(back);
    await fetch(`${back}?code=1&state=right`);
    await came;
    const later = await start("later");
    expect(later.back).toBe(back);
    await fetch(`${back}?code=2&state=later`);
    expect((await later.came).get("code")).toBe("2");
  });
});

test.each([
  ["127.0.0.1:8080", 8080, true],
  ["localhost:8080", 8080, true],
  ["LocalHost:8080", 8080, true],
  ["127.0.0.1:8081", 8080, false],
  ["127.0.0.1", 8080, false],
  ["127.0.0.1:80", 80, true],
  // Browsers leave the port of the scheme out.
  ["127.0.0.1", 80, true],
  ["localhost", 80, true],
  ["evil.test", 80, false],
  ["evil.test:80", 80, false],
  ["127.0.0.1.evil.test", 80, false],
  ["", 80, false],
  [undefined, 80, false],
])("whether the host %j is this one at port %d: %s", (host, port, expected) => {
  expect(isHere(host, port)).toBe(expected);
});

test("the port of the scheme stands in no URL to come back to", () => {
  expect(uriOf(80, "/callback")).toBe("http://127.0.0.1/callback");
  expect(uriOf(8080, "/callback")).toBe("http://127.0.0.1:8080/callback");
});

describe("whoever else finds the port", () => {
  test.each([
    ["another path", "GET", "/other?code=x&state=right", {}, 404],
    ["a path that only begins so", "GET", "/callback/x?code=x&state=right", {}, 404],
    ["another state", "GET", "/callback?code=x&state=wrong", {}, 400],
    ["no state", "GET", "/callback?code=x", {}, 400],
    ["two states", "GET", "/callback?code=x&state=right&state=right", {}, 400],
    ["a POST", "POST", "/callback?code=x&state=right", {}, 405],
    ["a HEAD", "HEAD", "/callback?code=x&state=right", {}, 405],
    ["a name of another's", "GET", "/callback?code=x&state=right", { host: "evil.test" }, 403],
    ["no port", "GET", "/callback?code=x&state=right", { host: "127.0.0.1" }, 403],
    ["a whole URL", "GET", "http://evil.test/callback?code=x&state=right", {}, 403],
    ["no path", "OPTIONS", "*", {}, 403],
  ])("ends nothing with %s", async (_, method, target, headers, status) => {
    const { back, came } = await begin();
    const { host, port } = new URL(back);
    expect(await statusOf(port, method, target, { host, ...headers })).toBe(status);
    await fetch(`${back}?code=mine&state=right`);
    expect((await came).get("code")).toBe("mine");
  });
});

/** What a browser does ahead of asking, and what somebody does who wants the port for himself. */
async function hold(back: string): Promise<readonly Socket[]> {
  const sockets = ["", "GET /callback HTTP/1.1\r\nHost:"].map((begun) => {
    const socket = connect(Number(new URL(back).port), "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write(begun);
    return socket.resume();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

describe("connections on which nothing comes", () => {
  test("end with the sign-in, and its page comes all the same", async () => {
    const { back, came } = await begin();
    const held = await hold(back);
    const answer = await fetch(`${back}?code=c&state=right`);
    expect(await answer.text()).toContain("You are signed in.");
    await came;
    await until("they are closed", () => held.every(({ closed }) => closed));
  });

  test("end within seconds while somebody signs in", { timeout: 15_000 }, async () => {
    const { back, came } = await begin();
    const held = await hold(back);
    await Promise.all(held.map((socket) => once(socket, "close")));
    await fetch(`${back}?code=c&state=right`);
    expect((await came).get("code")).toBe("c");
  });
});

describe("giving up", () => {
  test("takes the signal's reason, and listens no more", async () => {
    const ended = new AbortController();
    const { back, came } = await begin({}, ended.signal);
    ended.abort(new Error("mine"));
    await expect(came).rejects.toThrow("mine");
    await isClosed(back);
  });

  test("shows the user nothing where it came before the sign-in", async () => {
    const shown: string[] = [];
    const signIn = loopbackSignIn({
      print: (text) => void shown.push(text),
      open: ({ href }) => void shown.push(href),
    });
    const back = await signIn.redirectUri();
    const url = new URL("https://as.test/authorize?state=s");
    url.searchParams.set("redirect_uri", back);
    const signal = AbortSignal.abort(new Error("mine"));
    await expect(signIn.authorize(url, { signal })).rejects.toThrow("mine");
    await isClosed(back);
    expect(shown).toEqual([]);
  });

  test("comes with what the user cannot be shown, and leaves no time limit running", async () => {
    const signIn = loopbackSignIn({
      timeoutMs: 123_456,
      print: () => {
        throw new Error("standard error is closed");
      },
    });
    const back = await signIn.redirectUri();
    const url = new URL("https://as.test/authorize?state=s");
    url.searchParams.set("redirect_uri", back);
    const started = vi.spyOn(globalThis, "setTimeout");
    try {
      await expect(signIn.authorize(url, { signal: never })).rejects.toThrow("is closed");
      const limits = started.mock.calls.filter(([, ms]) => ms === 123_456);
      expect(limits).toEqual([]);
    } finally {
      started.mockRestore();
    }
    await isClosed(back);
  });

  test("comes by itself, also where no sign-in follows", async () => {
    const { back, came } = await begin({ timeoutMs: 100 });
    await expect(came).rejects.toThrow("nobody signed in within 0.1 seconds");
    await isClosed(back);
    const idle = await loopbackSignIn({ timeoutMs: 50 }).redirectUri();
    await delay(20);
    await isClosed(idle);
  });

  test.each([
    ["javascript:alert(1)//?state=right", "javascript: is no page"],
    ["file:///etc/passwd?state=right", "file: is no page"],
    ["https://as.test/authorize", "must have a state"],
    ["https://as.test/authorize?state=s&redirect_uri=http://127.0.0.1:1/callback", "come back"],
  ])("is at once for %s", async (url, why) => {
    const opened: string[] = [];
    const signIn = loopbackSignIn({ open: ({ href }) => void opened.push(href), timeoutMs: 50 });
    await signIn.redirectUri();
    await expect(signIn.authorize(new URL(url), { signal: never })).rejects.toThrow(why);
    expect(opened).toEqual([]);
  });

  test("a path that a URL would not have is refused", () => {
    for (const path of ["callback", "/a?b", "/a#b", "//evil.test/x", "/a b"]) {
      expect(() => loopbackSignIn({ path })).toThrow(TypeError);
    }
  });
});

describe("the browser", () => {
  test.skipIf(process.platform !== "linux")("is no program of the working folder", async () => {
    const folder = await mkdtemp(join(tmpdir(), "browser-"));
    const planted = join(folder, "xdg-open");
    await writeFile(planted, `#!/bin/sh\n: > "${folder}/ran"\n`, { mode: 0o755 });
    const program = `
      import { openBrowser } from ${JSON.stringify(new URL("../../dist/node/open-browser.js", import.meta.url).href)};
      openBrowser(new URL("https://as.test/"));
      setTimeout(() => undefined, 500);`;
    const run = (PATH: string) =>
      promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
        cwd: folder,
        env: { PATH },
        timeout: 20_000,
      });
    await run(":.");
    expect(await readdir(folder)).toEqual(["xdg-open"]);
    await run(folder);
    await until("it ran", async () => (await readdir(folder)).includes("ran"));
    await rm(folder, { recursive: true });
  });

  test.each([
    ["linux", ["xdg-open"]],
    ["darwin", ["/usr/bin/open"]],
    ["win32", ["C:\\Windows\\System32\\rundll32.exe", "url.dll,FileProtocolHandler"]],
  ] as const)(
    "on %s is given the URL as one argument that no shell reads anything into",
    (platform, program) => {
      const url = new URL("https://as.test/a'b?x=$(touch /tmp/x)`id`;ls|cat&y=\"q\"!*^{}\\<>#'f'");
      const command = browserCommand(url, platform, {});
      expect(command.slice(0, -1)).toEqual(program);
      const text = command.at(-1) ?? "";
      expect(text).toMatch(/^https:\/\/as\.test\/[\w%?=&#./:-]*$/);
      expect(new URL(text).searchParams.get("x")).toBe("$(touch /tmp/x)`id`;ls|cat");
    },
  );

  test.each([
    ["D:\\WinNT", "D:\\WinNT\\System32\\rundll32.exe"],
    ["d:\\WinNT\\", "d:\\WinNT\\System32\\rundll32.exe"],
    [undefined, "C:\\Windows\\System32\\rundll32.exe"],
    ["", "C:\\Windows\\System32\\rundll32.exe"],
    [".", "C:\\Windows\\System32\\rundll32.exe"],
    ["Windows", "C:\\Windows\\System32\\rundll32.exe"],
    ["\\\\evil.test\\share", "C:\\Windows\\System32\\rundll32.exe"],
    ["D:\\..\\Users\\me", "C:\\Windows\\System32\\rundll32.exe"],
  ])("on Windows, whose folder is said to be %j, is opened by %s", (SystemRoot, program) => {
    const url = new URL("https://as.test/");
    expect(browserCommand(url, "win32", { SystemRoot })[0]).toBe(program);
  });

  test.each([
    ["/usr/bin:.:/bin", "/usr/bin:/bin"],
    [":/usr/bin:", "/usr/bin"],
    ["bin:./x:../y", "/usr/local/bin:/usr/bin:/bin"],
    ["", "/usr/local/bin:/usr/bin:/bin"],
    [undefined, "/usr/local/bin:/usr/bin:/bin"],
  ])("is looked for in no folder that the working folder decides on: %j", (path, kept) => {
    expect(absolutePath(path)).toBe(kept);
  });

  test.each(["file:///etc/passwd", "javascript:alert(1)", "ms-settings:x", "data:text/html,x"])(
    "is never given %s",
    (url) => {
      expect(() => openBrowser(new URL(url))).toThrow(TypeError);
    },
  );
});
