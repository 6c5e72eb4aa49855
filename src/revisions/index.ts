/** Every revision there is. A new one is a file of its own and a line here. */
import { adapter2024_11_05 } from "./2024-11-05.ts";
import { adapter2025_03_26 } from "./2025-03-26.ts";
import { adapter2025_06_18 } from "./2025-06-18.ts";
import { adapter2025_11_25 } from "./2025-11-25.ts";
import { adapter2026_07_28 } from "./2026-07-28.ts";
import { AdapterSet } from "./adapter-set.ts";

export const allRevisions: AdapterSet = new AdapterSet([
  adapter2026_07_28,
  adapter2025_11_25,
  adapter2025_06_18,
  adapter2025_03_26,
  adapter2024_11_05,
]);

export {
  adapter2024_11_05,
  adapter2025_03_26,
  adapter2025_06_18,
  adapter2025_11_25,
  adapter2026_07_28,
};
