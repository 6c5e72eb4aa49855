/** How long is waited for a driver, and how much it is left with. */
import { StoreError } from "anyrev";
import { expect, test } from "vitest";
import { Deadline } from "../../src/stores/deadline.ts";

test("gives what comes in time, and fails with what fails", async () => {
  const deadline = new Deadline();
  expect(await deadline.wait(50, async () => 1)).toBe(1);
  const failing = deadline.wait(50, () => Promise.reject(new TypeError("no")));
  await expect(failing).rejects.toThrow(TypeError);
  const thrown = deadline.wait(50, () => {
    throw new TypeError("no");
  });
  await expect(thrown).rejects.toThrow(TypeError);
});

test("is away when it takes longer, and takes no more than a driver may be left with", async () => {
  const deadline = new Deadline();
  const settle: ((value: number) => void)[] = [];
  const start = () => new Promise<number>((resolve) => settle.push(resolve));
  const late = Array.from({ length: 150 }, () => deadline.wait(5, start));
  for (const each of late) await expect(each).rejects.toMatchObject({ code: "away" });
  expect(settle).toHaveLength(150);
  await expect(deadline.wait(1_000, start)).rejects.toBeInstanceOf(StoreError);
  expect(settle).toHaveLength(150);
  for (const each of settle) each(1);
  await Promise.resolve();
  await new Promise((resolve) => setTimeout(resolve, 1));
  expect(await deadline.wait(50, async () => 2)).toBe(2);
});
