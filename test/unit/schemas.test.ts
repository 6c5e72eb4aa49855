import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { validate } from "../support/schemas.ts";

describe("examples of the specification", () => {
  const root = new URL("../schema/2026-07-28/examples/", import.meta.url);
  const files = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".json"))
    .sort();

  it("are all there", () => expect(files.length).toBeGreaterThan(90));

  it.each(files)("%s", (file) => {
    const [name = ""] = file.split("/");
    const example: unknown = JSON.parse(readFileSync(new URL(file, root), "utf8"));
    expect(validate("2026-07-28", name, example, "")).toEqual([]);
  });
});
