/** What the stores that workers share can be told, whatever they are kept in. */
import { type KeyStoreOptions, type KeyTimes, toKeyTimes } from "./key-store.ts";
import { type SessionLimits, type SessionStoreOptions, toSessionLimits } from "./session-store.ts";

/** How much a shared hub holds: past any of these the oldest is forgotten. */
export interface SharedHubOptions {
  /** Events kept of a topic at most; older ones are forgotten first. @default 1000 */
  readonly maxEvents?: number | undefined;
  /** Characters of data kept of a topic at most. @default 16777216 */
  readonly maxLength?: number | undefined;
  /**
   * Characters of one event at most. What is larger is refused with a StoreError,
   * `too-large`: one reply must not push out a whole topic. @default 8388608
   */
  readonly maxEventLength?: number | undefined;
  /** Topics kept at most; the one used longest ago is forgotten first. @default 10000 */
  readonly maxTopics?: number | undefined;
  /**
   * How long events are kept after the last one of their topic, in milliseconds. Of the
   * topic itself it is known for twelve times as long where it stands. @default 300000
   */
  readonly ttlMs?: number | undefined;
}

/** How a shared store of used ids is capped. */
export interface SharedOneTimeOptions {
  /**
   * Ids remembered at most. Past it new ones are refused with a StoreError, `full`, until old
   * ones expire: what is to be used once must not become usable again because of a flood.
   * @default 1000000
   */
  readonly max?: number | undefined;
}

export interface SharedStoresOptions {
  /**
   * What the names of all tables or keys begin with: stores with different prefixes know
   * nothing of each other, so it is what keeps tenants or stages apart. Small letters, digits
   * and `_`, a letter first, 30 at most, so that it can be no piece of SQL. @default "anyrev"
   */
  readonly prefix?: string | undefined;
  /** How long an operation may take before it fails as `away`, in milliseconds. @default 1500 */
  readonly timeoutMs?: number | undefined;
  readonly sessions?: SessionStoreOptions | undefined;
  readonly events?: SharedHubOptions | undefined;
  readonly oneTime?: SharedOneTimeOptions | undefined;
  readonly keys?: KeyStoreOptions | undefined;
  /**
   * Hears what fails where nobody waits for it: a sweep, or a wait for events while the store
   * is away. All of it is tried again. @default nobody
   */
  readonly onFault?: ((cause: unknown) => void) | undefined;
}

export type HubLimits = { readonly [name in keyof SharedHubOptions]-?: number } & {
  /** How long a topic without a use is known, in milliseconds. */
  readonly keepMs: number;
};

export interface Settings {
  readonly prefix: string;
  readonly timeoutMs: number;
  readonly sessions: SessionLimits;
  readonly events: HubLimits;
  readonly maxUsed: number;
  readonly keys: KeyTimes;
  readonly onFault: (cause: unknown) => void;
}

/** @throws RangeError with what is wrong with an option. */
export function toSettings(options: SharedStoresOptions = {}): Settings {
  const events = toHubLimits(options.events);
  const keys = toKeyTimes(options.keys);
  return {
    prefix: toPrefix(options.prefix),
    timeoutMs: whole("timeoutMs", options.timeoutMs ?? 1_500),
    sessions: wholes("sessions", toSessionLimits(options.sessions)),
    events,
    maxUsed: whole("oneTime.max", options.oneTime?.max ?? 1_000_000),
    keys: { rotateMs: Math.ceil(keys.rotateMs), lifeMs: Math.ceil(keys.lifeMs) },
    onFault: options.onFault ?? (() => undefined),
  };
}

/** @throws RangeError when it could be more than a part of a name. */
export function toPrefix(prefix = "anyrev"): string {
  if (/^[a-z][a-z0-9_]{0,29}$/.test(prefix)) return prefix;
  throw new RangeError(
    `a prefix is a small letter and at most 29 more letters, digits or _, not ${JSON.stringify(prefix.slice(0, 60))}`,
  );
}

function toHubLimits(options: SharedHubOptions = {}): HubLimits {
  const ttlMs = options.ttlMs ?? 300_000;
  const limits = wholes("events", {
    maxEvents: options.maxEvents ?? 1_000,
    maxLength: options.maxLength ?? 16_777_216,
    maxEventLength: options.maxEventLength ?? 8_388_608,
    maxTopics: options.maxTopics ?? 10_000,
    ttlMs,
    keepMs: ttlMs * 12,
  });
  return { ...limits, maxEventLength: Math.min(limits.maxEventLength, limits.maxLength) };
}

function wholes<T extends Readonly<Record<string, number>>>(group: string, values: T): T {
  const entries = Object.entries(values);
  return Object.fromEntries(
    entries.map(([name, value]) => [name, whole(`${group}.${name}`, value)]),
  ) as T;
}

/** Backends count in whole numbers, and none of these can be nothing. */
function whole(name: string, value: number): number {
  if (value > 0 && Number.isSafeInteger(Math.ceil(value))) return Math.ceil(value);
  throw new RangeError(`${name} is a positive number, not ${value}`);
}
