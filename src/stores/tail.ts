/** The end of one topic as a worker follows it: read once for all who are there. */
import type { Awaitable } from "../util/awaitable.ts";
import { pause } from "../util/timer.ts";
import type { HubEvent } from "./event-hub.ts";
import { type Place, toCursor } from "./place.ts";
import { fromKept } from "./text.ts";
import { placeAfter, type Reading, reaches } from "./topics.ts";

export interface TailOptions {
  readonly read: (after: Place) => Awaitable<Reading | undefined>;
  readonly fault: (cause: unknown) => void;
  /** Called when nobody follows any more. */
  readonly onEmpty: () => void;
}

/** How long it waits before it reads again after reading failed, at first and at most. */
const [firstPauseMs, longestPauseMs] = [20, 500];

export class Tail {
  readonly #options: TailOptions;
  readonly #followers: Set<Follower> = new Set();
  /** How many read what came before on their own. */
  #joining = 0;
  /** What has been shown to whoever is here. Undefined until somebody is. */
  #at: Place | undefined;
  /** There may be more than was read. */
  #isRung = false;
  #isReading = false;
  #isTelling = false;
  #isClosed = false;

  constructor(options: TailOptions) {
    this.#options = options;
  }

  /** Shows a follower what is there, and lets it in. @returns false when its place is lost. */
  async join(follower: Follower): Promise<boolean> {
    this.#joining++;
    try {
      const reading = await this.#options.read(follower.at);
      if (!reaches(reading, follower.at)) return false;
      await this.#letIn(follower, reading);
      return true;
    } finally {
      this.#joining--;
      this.#leaveIfEmpty();
    }
  }

  async #letIn(follower: Follower, first: Reading | undefined): Promise<void> {
    for (let reading = first; ; reading = await this.#options.read(follower.at)) {
      if (follower.signal.aborted || this.#isClosed) return;
      if (reading !== undefined) follower.take(reading);
      if (reading?.isFull) continue;
      if (this.#meets(follower)) break;
      // Whoever was here has read on in the meantime, or is yet to see that all began anew.
      if (this.#at?.epoch !== follower.at.epoch) await this.#catchUp();
    }
    this.#enter(follower);
  }

  /** An event that was published right here: it need not be read if it is the next one. */
  offer(place: Place, data: string): void {
    const at = this.#at;
    const isNext = at?.epoch === place.epoch && at.number + 1 === place.number;
    if (isNext && !this.#isReading && !this.#isTelling) {
      this.#at = place;
      this.#tell((follower) => follower.show(place, data));
    } else this.ring(place);
  }

  /** There is something to read, unless it was read up to there. */
  ring(place?: Place): void {
    const at = this.#at;
    if (place !== undefined && at?.epoch === place.epoch && at.number >= place.number) return;
    this.#isRung = true;
    this.#readOn();
  }

  close(): void {
    this.#isClosed = true;
    for (const follower of this.#followers)
      follower.signal.removeEventListener("abort", follower.leave);
    this.#followers.clear();
  }

  #meets(follower: Follower): boolean {
    const { epoch, number } = follower.at;
    const at = this.#at;
    if (this.#followers.size > 0) return at?.epoch === epoch && at.number <= number;
    // What was shown to those who have left, this one may not have seen.
    if (at !== undefined && (at.epoch !== epoch || at.number !== number)) this.#isRung = true;
    this.#at = follower.at;
    return true;
  }

  /** The topic has begun anew, and one of the two has not seen it yet. */
  #catchUp(): Promise<void> {
    this.ring();
    return pause(1);
  }

  #enter(follower: Follower): void {
    this.#followers.add(follower);
    follower.leave = () => {
      this.#followers.delete(follower);
      this.#leaveIfEmpty();
    };
    follower.signal.addEventListener("abort", follower.leave, { once: true });
    if (follower.signal.aborted) follower.leave();
    this.#readOn();
  }

  #leaveIfEmpty(): void {
    if (this.#followers.size === 0 && this.#joining === 0) this.#options.onEmpty();
  }

  #readOn(): void {
    if (this.#isRung && !this.#isReading && !this.#isTelling) void this.#read();
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    let pauseMs = firstPauseMs;
    // Never within the call of whoever rang: it may be a follower that is being called.
    await Promise.resolve();
    while (this.#isRung && this.#at !== undefined && this.#followers.size > 0) {
      this.#isRung = false;
      const at = this.#at;
      try {
        const reading = await this.#options.read(at);
        // Where everybody left meanwhile and others came, it is not read from their place.
        if (this.#at !== at) this.#isRung = true;
        else if (reading !== undefined) this.#take(reading);
        pauseMs = firstPauseMs;
      } catch (cause) {
        this.#isRung = true;
        this.#options.fault(cause);
        await pause(pauseMs);
        pauseMs = Math.min(pauseMs * 2, longestPauseMs);
      }
    }
    this.#isReading = false;
  }

  #take(reading: Reading): void {
    if (reading.isFull) this.#isRung = true;
    this.#at = placeAfter(reading, this.#at);
    this.#tell((follower) => follower.take(reading));
  }

  #tell(tell: (follower: Follower) => void): void {
    this.#isTelling = true;
    for (const follower of [...this.#followers]) tell(follower);
    this.#isTelling = false;
    this.#readOn();
  }
}

/** One who follows, and where it is. */
export class Follower {
  readonly signal: AbortSignal;
  /** Takes it off; set once it is there. */
  leave: () => void = () => undefined;
  #at: Place;
  readonly #onEvent: (event: HubEvent) => void;
  readonly #onFault: (cause: unknown) => void;

  constructor(
    at: Place,
    onEvent: (event: HubEvent) => void,
    signal: AbortSignal,
    onFault: (cause: unknown) => void,
  ) {
    this.#at = at;
    this.#onEvent = onEvent;
    this.signal = signal;
    this.#onFault = onFault;
  }

  get at(): Place {
    return this.#at;
  }

  /** Shows it what it has not seen of a reading. */
  take(reading: Reading): void {
    const { epoch, lost, events } = reading;
    if (this.#at.epoch !== epoch) this.#at = { epoch, number: 0 };
    if (this.#at.number < lost) {
      this.#onFault(new Error("events were forgotten before a follower could be shown them"));
    }
    for (const { number, data } of events) {
      if (number > this.#at.number) this.show({ epoch, number }, fromKept(data));
    }
    this.#at = placeAfter(reading, this.#at);
  }

  show(place: Place, data: string): void {
    const isSeen = this.#at.epoch === place.epoch && this.#at.number >= place.number;
    if (this.signal.aborted || isSeen) return;
    this.#at = place;
    try {
      this.#onEvent({ cursor: toCursor(place), data });
    } catch (cause) {
      // A fault of the callback's: the others are shown the event all the same.
      this.#onFault(cause);
    }
  }
}
