/** Topics that must be found for as long as somebody needs them, however silent they are. */
import { letGo } from "../util/timer.ts";

/** The data of an event that says nothing but that its topic is there. */
export const aliveMark = "+";

/** A hub forgets what nobody writes to; one that forgets sooner than this is of no use. */
const aliveMs = 60_000;

/** Calls `say` every minute or so, for it to write to a topic. @returns a function that ends that. */
export function sayAlive(say: () => void, everyMs: number = aliveMs): () => void {
  const timer = setInterval(say, everyMs);
  letGo(timer);
  return () => clearInterval(timer);
}
