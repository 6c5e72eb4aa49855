/** From a principal to what it may see and do, and to the name that all of its things go by. */
import type { Access, Principal } from "../core/access.ts";
import { type Awaitable, after } from "../util/awaitable.ts";
import { nameOf } from "./digest.ts";

/** Names that are kept ready, so that a request need not compute its own. */
const maxKept = 10_000;

export class Owners {
  readonly #implied: ReadonlyMap<string, readonly string[]>;
  readonly #names: Map<string, string> = new Map();
  /** Authenticators that know a principal already give the same object each time. */
  readonly #known: WeakMap<Principal, Access> = new WeakMap();

  constructor(implies: Readonly<Record<string, readonly string[]>>) {
    this.#implied = new Map(Object.entries(implies));
  }

  accessOf(principal: Principal): Awaitable<Access> {
    const known = this.#known.get(principal);
    if (known !== undefined) return known;
    return after(this.#ownerOf(principal), (owner) => {
      const access = { owner, principal, scopes: this.#expand(principal.scopes) };
      // One that may change is read anew each time.
      if (Object.isFrozen(principal)) this.#known.set(principal, access);
      return access;
    });
  }

  /** Short whatever an issuer calls its users, for stores keep it beside everything. */
  #ownerOf({ issuer, subject, client }: Principal): Awaitable<string> {
    // Written as a list: a separator could be part of any of them.
    const text = JSON.stringify([issuer, subject, client ?? null]);
    const kept = this.#names.get(text);
    if (kept !== undefined) return kept;
    return nameOf(text).then((name) => {
      const [oldest] = this.#names.keys();
      if (this.#names.size >= maxKept && oldest !== undefined) this.#names.delete(oldest);
      this.#names.set(text, name);
      return name;
    });
  }

  /** A broader scope holds the narrower ones, and what those hold. */
  #expand(scopes: readonly string[]): ReadonlySet<string> {
    const all = new Set(scopes);
    // A set that is iterated hands out what is added meanwhile.
    for (const scope of all) for (const held of this.#implied.get(scope) ?? []) all.add(held);
    return all;
  }
}

/** What a principal may see and do, for transports of your own. */
export function accessOf(principal: Principal): Promise<Access> {
  return Promise.resolve(new Owners({}).accessOf(principal));
}
