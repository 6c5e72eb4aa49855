import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^anyrev\/auth$/, replacement: source("auth/index.ts") },
      { find: /^anyrev\/client$/, replacement: source("node/client.ts") },
      { find: /^anyrev\/client\/auth$/, replacement: source("node/client-auth.ts") },
      { find: /^anyrev\/node$/, replacement: source("node/index.ts") },
      { find: /^anyrev\/stores\/(\w+)$/, replacement: source("stores/$1.ts") },
      { find: /^anyrev\/telemetry$/, replacement: source("telemetry/index.ts") },
      { find: /^anyrev\/testing$/, replacement: source("testing/index.ts") },
      { find: /^anyrev$/, replacement: source("index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["./test/support/servers.ts"],
    // Much of what tests do is wait.
    maxWorkers: "100%",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["dot", "./test/support/closing-line.ts"],
  },
});
