import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { Pseudonyms } from "../../src/util/pseudonyms.ts";
import { sha256Hex } from "../../src/util/sha256.ts";

test("the digest of every length of text is that of the platform", () => {
  for (let length = 0; length <= 200; length++) {
    const text = "é☕a".repeat(length).slice(0, length);
    expect(sha256Hex(text)).toBe(createHash("sha256").update(text).digest("hex"));
  }
});

test("a name is the same for the same secret, also after very many others", () => {
  const names = new Pseudonyms();
  const first = names.of("secret");
  expect(first).toBe(createHash("sha256").update("secret").digest("hex").slice(0, 32));
  const others = new Set(Array.from({ length: 3_000 }, (_, at) => names.of(`other-${at}`)));
  expect(others.size).toBe(3_000);
  expect(names.of("secret")).toBe(first);
});
