/** Names for what must not be told: the same for the same secret, and no way back. */
import { sha256Hex } from "./sha256.ts";

/** How many are remembered, so that a session is not hashed anew for each of its calls. */
const maxKept = 1_000;

export class Pseudonyms {
  readonly #kept: Map<string, string> = new Map();

  /** The first 32 hexadecimal digits of its SHA-256, so that whoever has it can look for it. */
  of(secret: string): string {
    let name = this.#kept.get(secret);
    if (name === undefined) {
      name = sha256Hex(secret, 16);
      if (this.#kept.size >= maxKept) this.#kept.clear();
      this.#kept.set(secret, name);
    }
    return name;
  }
}
