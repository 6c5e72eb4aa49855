import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureBuilt, root } from "./built.mjs";

ensureBuilt(
  "build/fixture/server.js",
  ["src", "fixture"],
  ["tsconfig.build.json", "tsconfig.fixture.json"],
);
await import(pathToFileURL(join(root, "build/fixture/server.js")).href);
