/** Digests, so that secrets are compared in the same time whatever they are. */
import { encodeTokenBytes } from "../util/base64.ts";

export type Digest = Uint8Array<ArrayBuffer>;

export async function digestOf(text: string): Promise<Digest> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
}

/** A digest as a name of 43 characters. */
export async function nameOf(text: string): Promise<string> {
  return encodeTokenBytes(await digestOf(text));
}

/** Looks at all of both, so that the time it takes tells nothing of where they differ. */
export function isEqual(one: Digest, other: Digest): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at++) difference |= (one[at] ?? 0) ^ (other[at] ?? 0);
  return difference === 0;
}

/** A list of secrets and what each of them stands for. */
export class Secrets<T> {
  readonly #known: Promise<readonly { readonly digest: Digest; readonly value: T }[]>;

  constructor(entries: readonly (readonly [secret: string, value: T])[]) {
    this.#known = Promise.all(
      entries.map(async ([secret, value]) => ({ digest: await digestOf(secret), value })),
    );
  }

  /** Compares with every one, also after a match. */
  async find(secret: string): Promise<T | undefined> {
    const [digest, known] = await Promise.all([digestOf(secret), this.#known]);
    let found: T | undefined;
    for (const each of known) if (isEqual(digest, each.digest)) found = each.value;
    return found;
  }
}
