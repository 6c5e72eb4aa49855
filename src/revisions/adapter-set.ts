/** The adapters of one endpoint: which versions they answer on, and which is newest. */
import type { Adapter, Served } from "./adapter.ts";

/**
 * An immutable set of adapters, newest first whatever the order they were given in:
 * versions are dates, and "newest" must mean the same on every worker.
 */
export class AdapterSet implements Served {
  readonly adapters: readonly Adapter[];
  readonly supported: readonly string[];
  readonly handshakes: readonly string[];
  readonly hasModern: boolean;
  readonly newest: Adapter;
  readonly newestHandshake: Adapter | undefined;
  readonly #byVersion: ReadonlyMap<string, Adapter>;

  /** @throws RangeError when there is none, or when two claim one version. */
  constructor(adapters: readonly Adapter[]) {
    this.adapters = [...adapters].sort((a, b) => (a.revision < b.revision ? 1 : -1));
    const byVersion = new Map<string, Adapter>();
    for (const adapter of this.adapters) {
      for (const version of new Set([adapter.revision, ...adapter.claims])) {
        if (byVersion.has(version)) {
          throw new RangeError(`two adapters claim ${version}; leave one of them out`);
        }
        byVersion.set(version, adapter);
      }
    }
    const [newest] = this.adapters;
    if (newest === undefined) throw new RangeError("an endpoint serves one revision at least");
    this.newest = newest;
    this.newestHandshake = this.adapters.find((adapter) => adapter.era === "handshake");
    this.hasModern = this.adapters.some((adapter) => adapter.era === "modern");
    this.#byVersion = byVersion;
    this.supported = [...byVersion.keys()].sort().reverse();
    this.handshakes = this.supported.filter(
      (version) => byVersion.get(version)?.era === "handshake",
    );
  }

  /** The adapter that claims this version, compared exactly. */
  find(version: string): Adapter | undefined {
    return this.#byVersion.get(version);
  }

  /**
   * Only the adapters that claim these versions.
   *
   * @throws RangeError for a version that none claims.
   */
  narrow(versions: readonly string[]): AdapterSet {
    const kept = versions.map((version) => {
      const adapter = this.find(version);
      if (adapter !== undefined) return adapter;
      throw new RangeError(
        `no adapter speaks ${JSON.stringify(version)}; there are ${this.supported.join(", ")}`,
      );
    });
    return new AdapterSet([...new Set(kept)]);
  }

  /** These adapters and some more, such as one of your own for a draft. */
  with(...more: readonly Adapter[]): AdapterSet {
    return new AdapterSet([...this.adapters, ...more]);
  }
}
