import { readFile, writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { writeRevisionsPage } from "../support/revisions-table.ts";

const page = new URL("../../docs/revisions.md", import.meta.url);

it("docs/revisions.md says what each revision really gets", async () => {
  const written = await writeRevisionsPage();
  if (process.env["UPDATE_DOCS"] === "1") await writeFile(page, written);
  const kept = await readFile(page, "utf8").catch(() => "");
  expect(
    kept,
    "docs/revisions.md is out of date; run UPDATE_DOCS=1 npx vitest run test/package/revisions-doc.test.ts",
  ).toBe(written);
});
