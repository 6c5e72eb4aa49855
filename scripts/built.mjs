// Builds what is missing or older than its sources, and says nothing on standard output.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

export function ensureBuilt(target, sources, projects) {
  // Several programs may start at once: none may run what another is still writing.
  const release = lock(join(root, "build/.building"));
  try {
    if (existsSync(join(root, target)) && newest(sources) <= mtime(target)) return;
    for (const project of projects) {
      const built = spawnSync(
        process.execPath,
        [join(root, "node_modules/typescript/bin/tsc"), "-p", project],
        { cwd: root, stdio: ["ignore", 2, 2] },
      );
      if (built.status !== 0) {
        release();
        process.exit(built.status ?? 1);
      }
    }
  } finally {
    release();
  }
}

/** Waits for whoever holds the file, unless that process has ended without letting go. */
function lock(path) {
  mkdirSync(join(path, ".."), { recursive: true });
  for (;;) {
    try {
      writeFileSync(path, String(process.pid), { flag: "wx" });
      return () => rmSync(path, { force: true });
    } catch (cause) {
      if (cause.code !== "EEXIST") throw cause;
    }
    if (isAbandoned(path)) rmSync(path, { force: true });
    else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
  }
}

function isAbandoned(path) {
  try {
    const holder = readFileSync(path, "utf8");
    // Empty for the moment between making the file and writing to it.
    if (holder === "") return Date.now() - statSync(path).mtimeMs > 10_000;
    process.kill(Number(holder), 0);
    return false;
  } catch (cause) {
    // ENOENT: it has just been let go of, and the next try finds that out.
    return cause.code === "ESRCH";
  }
}

function newest(paths) {
  return Math.max(
    ...paths.flatMap((path) => files(join(root, path))).map((file) => statSync(file).mtimeMs),
  );
}

function mtime(path) {
  return statSync(join(root, path)).mtimeMs;
}

function files(path) {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => files(join(path, name)));
}
