/** An nginx that runs a file of ours, in front of workers on this machine. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, launch, stop } from "./server-process.ts";

export interface NginxServer extends AsyncDisposable {
  readonly port: number;
}

/**
 * @param text - the file, whose workers are named `worker-1:8080` and so on, and which listens on 80
 * @param workers - the ports of the workers, in their order
 */
export async function startNginx(text: string, workers: readonly number[]): Promise<NginxServer> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "anyrev-nginx-"));
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  );
  const here = workers
    .reduce((all, at, index) => all.replace(`worker-${index + 1}:8080`, `127.0.0.1:${at}`), text)
    .replace("listen 80;", `listen 127.0.0.1:${port};`)
    .replace("http {", `http { access_log off; ${temporary.join(" ")}`);
  const file = join(folder, "nginx.conf");
  writeFileSync(file, here);
  const own = `daemon off; master_process off; error_log stderr; pid ${join(folder, "pid")};`;
  const child = await launch({
    command: process.env["NGINX"] ?? "/usr/sbin/nginx",
    args: ["-c", file, "-p", folder, "-g", own],
    probe: () => fetch(`http://127.0.0.1:${port}/`),
    folder,
  });
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      await stop(child, "SIGTERM");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
