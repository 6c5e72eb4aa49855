import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    typecheck: { enabled: false },
    testTimeout: 30_000,
    hookTimeout: 60_000,
    reporters: ["dot", "./test/support/closing-line.ts"],
  },
});
