/** The soak in short: what `npm run soak` does for minutes or hours. */
import { expect, it } from "vitest";
import { soak } from "../../bench/soaking.ts";

it("a steady load leaves memory flat once warm, and loses and doubles nothing", async () => {
  const { calls, sessions, growthMiB, faults } = await soak({ durationMs: 12_000 });
  expect(faults.slice(0, 5)).toEqual([]);
  expect(calls).toBeGreaterThan(1_000);
  expect(sessions).toBeGreaterThan(20);
  expect(growthMiB).toBeLessThan(10);
}, 60_000);
