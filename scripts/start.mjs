// Runs the notebook example, building it first where that is needed.
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureBuilt, root } from "./built.mjs";

const program = "build/examples/notebook/main.js";

ensureBuilt("dist/node/index.js", ["src"], ["tsconfig.build.json"]);
ensureBuilt(program, ["src", "examples"], ["tsconfig.fixture.json"]);
await import(pathToFileURL(join(root, program)).href);
