// Builds what is missing or older than its sources, and says nothing on standard output.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

export function ensureBuilt(target, sources, projects) {
  if (existsSync(join(root, target)) && newest(sources) <= mtime(target)) return;
  for (const project of projects) {
    const built = spawnSync(
      process.execPath,
      [join(root, "node_modules/typescript/bin/tsc"), "-p", project],
      { cwd: root, stdio: ["ignore", 2, 2] },
    );
    if (built.status !== 0) process.exit(built.status ?? 1);
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
