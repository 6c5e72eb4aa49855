/** The map in the order of last use, against a Map whose keys are deleted and set again. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { RecencyMap } from "../../src/util/recency-map.ts";

const key = fc.constantFrom("a", "b", "c", "d", "e");
const step = fc.oneof(
  fc.record({ kind: fc.constant("set" as const), key, value: fc.nat() }),
  fc.record({ kind: fc.constant("delete" as const), key, value: fc.constant(0) }),
);

test("holds the same in the same order, whatever is done", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const map = new RecencyMap<number>();
      const model = new Map<string, number>();
      for (const { kind, key: name, value } of steps) {
        if (kind === "delete") expect(map.delete(name)).toBe(model.delete(name));
        else {
          map.set(name, value);
          model.delete(name);
          model.set(name, value);
        }
        expect([...map]).toEqual([...model]);
        expect([map.size, map.get(name)]).toEqual([model.size, model.get(name)]);
      }
    }),
  );
});

test("lets what is come to be deleted", () => {
  const map = new RecencyMap<number>();
  for (const name of ["a", "b", "c", "d"]) map.set(name, 1);
  for (const [name] of map) if (name !== "c") map.delete(name);
  expect([...map]).toEqual([["c", 1]]);
});
