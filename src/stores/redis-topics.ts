/** Topics as streams of Redis, and beside each where it stands. */
import type { HubLimits } from "./options.ts";
import { makeEpoch, type Place } from "./place.ts";
import type { RedisScripts } from "./redis-run.ts";
import type { Numbered, Reading, Topics } from "./topics.ts";

/** Events read at once at most; a reader that gets so many asks again. */
const pageSize = 200;

/** Topics named in one command at most. */
const maxNamed = 500;

export class RedisTopics implements Topics {
  readonly #scripts: RedisScripts;
  readonly #limits: HubLimits;

  constructor(scripts: RedisScripts, limits: HubLimits) {
    this.#scripts = scripts;
    this.#limits = limits;
  }

  async publish(topic: string, data: string): Promise<Place> {
    const { ttlMs, keepMs, maxEvents, maxLength, maxTopics } = this.#limits;
    const placed = await this.#scripts.run("publish", [
      topic,
      makeEpoch(),
      data,
      data.length,
      crypto.randomUUID(),
      ttlMs,
      keepMs,
      maxEvents,
      maxLength,
      maxTopics,
    ]);
    return toPlace(placed);
  }

  async position(topic: string): Promise<Place> {
    const { keepMs, maxTopics } = this.#limits;
    return toPlace(await this.#scripts.run("position", [topic, makeEpoch(), keepMs, maxTopics]));
  }

  async exists(topic: string): Promise<boolean> {
    return Number(await this.#scripts.send("EXISTS", `:events:${topic}`)) === 1;
  }

  async read(topic: string, { epoch, number }: Place): Promise<Reading | undefined> {
    const reply = await this.#scripts.run("read", [topic, epoch, number, pageSize]);
    const [at, last, lost, ...flat]: unknown[] = Array.isArray(reply) ? reply : [];
    if (at === undefined) return undefined;
    const events: Numbered[] = [];
    for (let index = 0; index + 1 < flat.length; index += 2) {
      events.push({ number: Number(flat[index]), data: String(flat[index + 1]) });
    }
    return {
      epoch: String(at),
      last: Number(last),
      lost: Number(lost),
      events,
      isFull: events.length >= pageSize,
    };
  }

  async delete(topic: string): Promise<void> {
    await this.#scripts.run("forget", [topic]);
  }

  async keep(topics: readonly string[]): Promise<void> {
    for (let at = 0; at < topics.length; at += maxNamed) {
      await this.#scripts.run("keep", [this.#limits.keepMs, ...topics.slice(at, at + maxNamed)]);
    }
  }
}

function toPlace(reply: unknown): Place {
  const [epoch, number] = Array.isArray(reply) ? reply : [];
  return { epoch: String(epoch), number: Number(number) };
}
