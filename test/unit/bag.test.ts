/** A bag holds what was added and not deleted, whatever the order. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { Bag, type Bagged } from "../../src/util/bag.ts";

interface Item extends Bagged {
  readonly name: number;
}

const create = (name: number): Item => ({ name, place: -1 });

it("is what a set is, in no order", () => {
  const steps = fc.array(fc.record({ adds: fc.boolean(), which: fc.nat({ max: 9 }) }), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(steps, (taken) => {
      const bag = new Bag<Item>();
      const set = new Set<Item>();
      const items = Array.from({ length: 10 }, (_, name) => create(name));
      for (const { adds, which } of taken) {
        const item = items[which]!;
        if (adds && !set.has(item)) {
          bag.add(item);
          set.add(item);
        } else if (!adds) {
          bag.delete(item);
          set.delete(item);
        }
        expect(bag.size).toBe(set.size);
        expect(new Set(bag.all())).toEqual(set);
        expect(bag.find(({ name }) => name === which)).toBe(set.has(item) ? item : undefined);
      }
    }),
  );
});

it("holds nothing of another bag", () => {
  const [one, other] = [new Bag<Item>(), new Bag<Item>()];
  const item = create(1);
  one.add(item);
  other.add(create(2));
  other.delete(item);
  expect([one.size, other.size]).toEqual([1, 1]);
});
