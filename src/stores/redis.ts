/**
 * Sessions, events, used ids and keys in Redis or Valkey, for the workers of many machines.
 *
 * @module
 */
import type { OneTimeStore } from "../core/one-time.ts";
import { StoreError } from "../core/store-error.ts";
import { decodeTokenBytes, encodeTokenBytes } from "../util/base64.ts";
import { checkKey, type KeyStore, type KeyTimes, type RingKey } from "./key-store.ts";
import { type SharedStoresOptions, toSettings } from "./options.ts";
import { readRecord, writeRecord } from "./record.ts";
import { RedisBell } from "./redis-bell.ts";
import { type RedisClient, toConnection } from "./redis-driver.ts";
import { RedisScripts } from "./redis-run.ts";
import { RedisTopics } from "./redis-topics.ts";
import type { SessionLimits, SessionRecord, SessionStore } from "./session-store.ts";
import { SharedHub } from "./shared-hub.ts";
import type { SharedStores } from "./shared-stores.ts";
import { toKept, toName } from "./text.ts";
import type { Bell, Ringing } from "./topics.ts";

export type { SharedHubOptions, SharedOneTimeOptions, SharedStoresOptions } from "./options.ts";
export type {
  IoRedisClient,
  NodeRedisClient,
  NodeRedisCluster,
  RedisClient,
  RedisSender,
} from "./redis-driver.ts";
export type { SharedStores } from "./shared-stores.ts";

export interface RedisStoresOptions extends SharedStoresOptions {
  /**
   * A connection that waits for events and does nothing else, as no command gets through
   * while one waits. @default a duplicate of the client, opened when something is followed
   */
  readonly reader?: RedisClient | undefined;
}

/**
 * Makes stores of a client of `redis`, `ioredis` or `iovalkey`, or of any other that was given
 * a `send`. All keys have one hash tag, so that they lie on one node of a cluster.
 *
 * @param client - connected, or about to be; with a listener for its `error` event, without
 *   which drivers end the process when a connection breaks
 * @throws TypeError when the client is of none of these kinds
 */
export function createRedisStores(
  client: RedisClient,
  options: RedisStoresOptions = {},
): SharedStores {
  const settings = toSettings(options);
  const connection = toConnection(client);
  const reader = options.reader === undefined ? undefined : toConnection(options.reader);
  const base = `{${settings.prefix}}`;
  const scripts = new RedisScripts(connection, base, settings.timeoutMs);
  const topics = new RedisTopics(scripts, settings.events);
  const bell = (ringing: Ringing): Bell =>
    new RedisBell(ringing, {
      connection,
      reader,
      key: `${base}:bell`,
      timeoutMs: settings.timeoutMs,
    });
  const hub = new SharedHub(topics, settings.events, bell, settings.onFault);
  const close = async (): Promise<void> => {
    await hub.close();
    scripts.close();
  };
  return {
    sessions: new RedisSessions(scripts, settings.sessions),
    hub,
    oneTime: new RedisOneTime(scripts, settings.maxUsed),
    keys: new RedisKeys(scripts, settings.keys),
    close,
    [Symbol.asyncDispose]: close,
  };
}

class RedisSessions implements SessionStore {
  readonly #scripts: RedisScripts;
  readonly #limits: SessionLimits;

  constructor(scripts: RedisScripts, limits: SessionLimits) {
    this.#scripts = scripts;
    this.#limits = limits;
  }

  async create(record: SessionRecord): Promise<void> {
    const { ttlMs, maxLength, maxSessions, maxSessionsPerPrincipal } = this.#limits;
    await this.#scripts.run("create", [
      toName("a session's id", record.id),
      toName("a principal", record.principal),
      record.writeVersion,
      writeRecord(record, maxLength),
      ttlMs,
      maxSessions,
      maxSessionsPerPrincipal,
    ]);
  }

  async get(id: string): Promise<SessionRecord | undefined> {
    return toRecord(id, await this.#scripts.send("HMGET", `:session:${toKept(id)}`, ["r", "v"]));
  }

  async save(record: SessionRecord, writeVersion: number): Promise<boolean> {
    const { ttlMs, maxLength } = this.#limits;
    const text = writeRecord(record, maxLength);
    const saved = await this.#scripts.run("save", [
      toKept(record.id),
      writeVersion,
      text,
      crypto.randomUUID(),
      ttlMs,
    ]);
    return Number(saved) === 1;
  }

  async touch(id: string): Promise<SessionRecord | undefined> {
    return toRecord(id, await this.#scripts.run("touch", [toKept(id), this.#limits.ttlMs]));
  }

  async delete(id: string): Promise<boolean> {
    return Number(await this.#scripts.run("end", [toKept(id)])) === 1;
  }
}

function toRecord(id: string, reply: unknown): SessionRecord | undefined {
  const [record, version] = Array.isArray(reply) ? reply : [];
  if (typeof record !== "string") return undefined;
  return readRecord(id, record, Number(version));
}

class RedisOneTime implements OneTimeStore {
  readonly #scripts: RedisScripts;
  readonly #max: number;

  constructor(scripts: RedisScripts, max: number) {
    this.#scripts = scripts;
    this.#max = max;
  }

  async claim(id: string, ttlMs: number): Promise<boolean> {
    const claimed = await this.#scripts.run("claim", [
      toName("an id", id),
      Math.ceil(ttlMs),
      crypto.randomUUID(),
      this.#max,
    ]);
    if (Number(claimed) >= 0) return Number(claimed) === 1;
    throw new StoreError("full", `${this.#max} used ids are remembered; no more fit`, {
      retryAfterMs: 60_000,
    });
  }
}

class RedisKeys implements KeyStore {
  readonly #scripts: RedisScripts;
  readonly #times: KeyTimes;

  constructor(scripts: RedisScripts, times: KeyTimes) {
    this.#scripts = scripts;
    this.#times = times;
  }

  async read(): Promise<readonly RingKey[]> {
    return toRing(await this.#scripts.run("readKeys", [this.#times.lifeMs]));
  }

  async rotate(candidate: Uint8Array): Promise<readonly RingKey[]> {
    checkKey(candidate);
    const { lifeMs, rotateMs } = this.#times;
    const key = encodeTokenBytes(candidate);
    return toRing(await this.#scripts.run("rotateKeys", [lifeMs, key, rotateMs]));
  }
}

/** Keys and their ages in turn. None of what is no key: better a ring without it. */
function toRing(reply: unknown): RingKey[] {
  const flat: unknown[] = Array.isArray(reply) ? reply : [];
  const ring: RingKey[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) {
    const bytes = decodeTokenBytes(String(flat[at]));
    if (bytes?.length === 32) ring.push({ bytes, ageMs: Math.max(0, Number(flat[at + 1])) });
  }
  return ring;
}
