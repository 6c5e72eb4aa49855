/** Opens a page in the user's browser. */
import { spawn } from "node:child_process";

/** What a shell would read anything into; in a URL each may as well be written as its number. */
const telling = /['"`$;|\\^(){}<>!*]/g;

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The program that opens URLs, and how it is called: never through a shell. By its whole path where
 * that is the same on every machine: a bare name may be that of a program in the working folder.
 *
 * @throws TypeError for a URL that is neither http nor https
 */
export function browserCommand(
  url: URL,
  platform: NodeJS.Platform,
  environment: Environment,
): readonly [command: string, ...args: string[]] {
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new TypeError(`${url.protocol} is no page; only http and https are opened`);
  }
  const text = url.href.replace(
    telling,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`,
  );
  switch (platform) {
    case "win32":
      return [`${systemFolder(environment)}\\rundll32.exe`, "url.dll,FileProtocolHandler", text];
    case "darwin":
      return ["/usr/bin/open", text];
    default:
      return ["xdg-open", text];
  }
}

/** Where Windows says that it is; whatever is no plain absolute path there is not believed. */
function systemFolder(environment: Environment): string {
  const said = environment["SystemRoot"] ?? "";
  const isPlain = /^[a-z]:(?:\\[\w -]+)+\\?$/i.test(said);
  return `${isPlain ? said.replace(/\\$/, "") : "C:\\Windows"}\\System32`;
}

/** The part of a search path that says the same in every working folder. */
export function absolutePath(path: string | undefined): string {
  const folders = (path ?? "").split(":").filter((folder) => folder.startsWith("/"));
  // An empty search path is the working folder.
  return folders.length === 0 ? "/usr/local/bin:/usr/bin:/bin" : folders.join(":");
}

/**
 * Opens an http or https URL, and lets the browser outlive this process. On a machine without one
 * nothing happens.
 *
 * @throws TypeError for any other URL
 */
export function openBrowser(url: URL): void {
  const { platform, env } = process;
  const [command, ...args] = browserCommand(url, platform, env);
  const child = spawn(command, args, {
    stdio: "ignore",
    detached: true,
    shell: false,
    ...(platform === "win32" ? {} : { env: { ...env, PATH: absolutePath(env["PATH"]) } }),
  });
  // There is none: the user has been shown the URL.
  child.once("error", () => undefined);
  child.unref();
}
