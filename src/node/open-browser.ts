/** Opens a page in the user's browser. */
import { spawn } from "node:child_process";

/** What a shell would read anything into; in a URL each may as well be written as its number. */
const telling = /['"`$;|\\^(){}<>!*]/g;

/** The program that opens URLs, and how it is called: never through a shell. */
export function browserCommand(
  url: URL,
  platform: NodeJS.Platform,
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
      return ["rundll32", "url.dll,FileProtocolHandler", text];
    case "darwin":
      return ["open", text];
    default:
      return ["xdg-open", text];
  }
}

/**
 * Opens an http or https URL, and lets the browser outlive this process. On a machine without one
 * nothing happens.
 *
 * @throws TypeError for any other URL
 */
export function openBrowser(url: URL): void {
  const [command, ...args] = browserCommand(url, process.platform);
  const child = spawn(command, args, { stdio: "ignore", detached: true, shell: false });
  // There is none: the user has been shown the URL.
  child.once("error", () => undefined);
  child.unref();
}
