/** `npm run soak`: three minutes of load, or as many as `--minutes` says; fails when anything grows or is lost. */
import { parseArgs } from "node:util";
import { soak } from "./soaking.ts";

const { values } = parseArgs({ options: { minutes: { type: "string", default: "3" } } });
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new RangeError("--minutes is how long the load lasts, such as 120");

const { calls, sessions, growthMiB, faults } = await soak({
  durationMs: minutes * 60_000,
  onSample: (heapMiB, made) => console.log(`${made} calls, ${heapMiB.toFixed(1)} MiB`),
});
console.log(`${calls} calls in ${sessions} sessions; ${growthMiB.toFixed(1)} MiB more at the end`);
for (const fault of faults.slice(0, 20)) console.log(fault);
if (faults.length > 0 || growthMiB > 10) process.exitCode = 1;
