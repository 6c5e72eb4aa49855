import { type KeyStore, MemoryKeys, MemoryOneTime, type RingKey, StoreError } from "anyrev";
import { describe, expect, it, vi } from "vitest";
import { SharedRing } from "../../src/core/key-ring.ts";
import { type StateScope, StateSealer } from "../../src/core/request-state.ts";

const scope: StateScope = { principal: "", operation: "call-tool", target: "t", arguments: {} };
const state = { round: 1 };
const oneTime = new MemoryOneTime();

/** A store of keys that counts how often it is asked, and can be away. */
class Counted implements KeyStore {
  asked = 0;
  away = false;
  readonly #keys: MemoryKeys;

  constructor(keys: MemoryKeys) {
    this.#keys = keys;
  }

  read(): readonly RingKey[] {
    return this.#keys.read();
  }

  rotate(candidate: Uint8Array): readonly RingKey[] {
    this.asked++;
    if (this.away) throw new StoreError("away", "gone", { retryAfterMs: 2_500 });
    return this.#keys.rotate(candidate);
  }
}

const sharing = (keys: KeyStore): StateSealer => new StateSealer().sharing({ keys, oneTime });
const garbage = (at: number): string =>
  Buffer.concat([Buffer.from([1, at >> 8, at & 255, 9, 9]), Buffer.alloc(60, at)]).toString(
    "base64url",
  );

describe("keys that workers share", () => {
  it("let each open what another sealed, and nobody else", async () => {
    const keys = new MemoryKeys();
    const workers = [sharing(keys), sharing(keys), sharing(keys)];
    for (const worker of workers) {
      const text = await worker.seal(state, scope);
      for (const other of workers) expect(await other.open(text, scope)).toMatchObject(state);
    }
    const text = await workers[0]!.seal(state, scope);
    expect(await sharing(new MemoryKeys()).open(text, scope)).toBeUndefined();
  });

  it("are read once, and again when they are no longer fresh; nobody waits for that", async () => {
    let now = 0;
    const keys = new Counted(new MemoryKeys());
    const ring = new SharedRing(keys, { now: () => now, freshMs: 60_000 });
    const first = await ring.newest();
    for (let turn = 0; turn < 5; turn++) expect(await ring.newest()).toBe(first);
    expect(await ring.find(first.id)).toBe(first);
    expect(keys.asked).toBe(1);
    now = 60_000;
    expect(await ring.newest()).toBe(first);
    expect(keys.asked).toBe(2);
  });

  it("open what was sealed with a key that another worker has just put in front", async () => {
    let now = 0;
    const clock = { rotateMs: 1_000, retireMs: 1_000, now: () => now };
    const keys = new MemoryKeys(clock);
    const [one, other] = [sharing(keys), sharing(keys)];
    const before = await one!.seal(state, scope);
    expect(await other!.open(before, scope)).toBeDefined();
    now = 1_500;
    // It has never read the ring, and so finds its newest key too old.
    const after = await sharing(keys).seal(state, scope);
    for (const worker of [one, other]) {
      expect(await worker!.open(after, scope)).toBeDefined();
      expect(await worker!.open(before, scope)).toBeDefined();
    }
  });

  it("are not read for each text that nobody sealed", async () => {
    const keys = new Counted(new MemoryKeys());
    const sealer = sharing(keys);
    const good = await sealer.seal(state, scope);
    const started = performance.now();
    const opened = await Promise.all(
      Array.from({ length: 300 }, (_, at) => sealer.open(garbage(at), scope)),
    );
    expect(opened.every((each) => each === undefined)).toBe(true);
    const seconds = (performance.now() - started) / 1_000;
    expect(keys.asked).toBeLessThanOrEqual(3 + Math.ceil(seconds / 0.5));
    const asked = keys.asked;
    expect(await sealer.open(good, scope)).toBeDefined();
    expect(keys.asked).toBe(asked);
  });

  it("open what is good also while garbage is being held up", async () => {
    const memory = new MemoryKeys({ rotateMs: 1, retireMs: 60_000 });
    const sealer = sharing(new Counted(memory));
    await sealer.seal(state, scope);
    await sealer.open(garbage(1), scope);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const text = await sharing(memory).seal(state, scope);
    const [bad, good] = await Promise.all([
      sealer.open(garbage(2), scope),
      sealer.open(text, scope),
    ]);
    expect([bad, good]).toEqual([undefined, expect.objectContaining(state)]);
  });

  it("serve on while their store is away, and say so where there are none yet", async () => {
    const keys = new Counted(new MemoryKeys());
    keys.away = true;
    const sealer = sharing(keys);
    await expect(sealer.seal(state, scope)).rejects.toThrow(StoreError);
    keys.away = false;
    const text = await sealer.seal(state, scope);
    keys.away = true;
    expect(await sealer.open(text, scope)).toBeDefined();
    expect(await sealer.open(await sealer.seal(state, scope), scope)).toBeDefined();
    await expect(sealer.open(garbage(3), scope)).rejects.toThrow(StoreError);
  });

  it("are not taken where keys are configured", async () => {
    const configured = new StateSealer({ keys: [new Uint8Array(32).fill(3)] });
    const rotate = vi.fn();
    const shared = configured.sharing({ keys: { read: () => [], rotate }, oneTime });
    expect(await configured.open(await shared.seal(state, scope), scope)).toBeDefined();
    expect(rotate).not.toHaveBeenCalled();
  });

  it("come with the shared place for what may be used once", async () => {
    const keys = new MemoryKeys();
    const shared = { keys, oneTime: new MemoryOneTime() };
    const [one, other] = [1, 2].map(() => new StateSealer({ singleUse: true }).sharing(shared));
    const text = await one!.seal(state, scope);
    expect(await other!.open(text, scope)).toBeDefined();
    expect(await one!.open(text, scope)).toBeUndefined();
  });
});
