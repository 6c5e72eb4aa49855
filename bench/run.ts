/**
 * Measures servers and clients against what they could cost at least and against the official SDK,
 * all in one run, interleaved, medians. CPU time per call is the figure to trust; the ratios are
 * what to quote. An argument chooses the rows whose titles contain it.
 */
import { client } from "./client.ts";
import { http } from "./http.ts";
import { stdio } from "./stdio.ts";

const only = process.argv[2] ?? "";

for (const { columns, rows } of [http, client, stdio]) {
  const chosen = rows.filter(({ title }) => title.includes(only));
  if (chosen.length === 0) continue;
  console.log(`| ${columns.join(" | ")} |`);
  console.log(`| ${columns.map(() => "---").join(" | ")} |`);
  for (const { title, measure } of chosen) {
    console.log(`| ${[title, ...(await measure())].join(" | ")} |`);
  }
  console.log();
}
