/** The page on what each revision gets, written from what a real endpoint answers. */
import { openLine, Peer } from "./peer.ts";
import { conversation } from "./revisions-conversation.ts";
import type { Probe } from "./revisions-looks.ts";
import { type Section, sections } from "./revisions-probes.ts";
import { createShowcase } from "./showcase.ts";
import { revisions } from "./wire.ts";

const introduction = `# What each revision gets

A server is declared once, with everything it has to say. Each client is shown what its
own revision can carry; what it cannot carry is left out, or told in another way where
leaving it out would lose the answer. Nothing of this changes what a handler does: the
revision decides the shape of an answer, never its effect.

"–" means that the revision does not have it, and the last column says what happens then.

This page is generated: a server that declares everything is called in every revision,
and the tables hold what came back. After a change, run
\`UPDATE_DOCS=1 npx vitest run test/package/revisions-doc.test.ts\`.
`;

const closing = `## Hiding what older clients should not see

\`since: "2025-06-18"\` on a declaration hides it from clients of earlier revisions: it is
not listed to them, and a call of it is refused like one of a name that never was.
`;

export async function writeRevisionsPage(): Promise<string> {
  const line = await openLine("fetch", createShowcase());
  try {
    const probes: Probe[] = [];
    for (const revision of revisions) {
      probes.push({ revision, line, peer: await Peer.open(line, revision) });
    }
    const tables: string[] = [];
    for (const section of [...sections, conversation])
      tables.push(await writeSection(section, probes));
    return [introduction, ...tables, closing].join("\n");
  } finally {
    await line.close();
  }
}

async function writeSection({ title, rows }: Section, probes: readonly Probe[]): Promise<string> {
  const lines = [
    row(["", ...probes.map(({ revision }) => revision), "where it is missing"]),
    row(["---", ...probes.map(() => ":---:"), "---"]),
  ];
  for (const { subject, look, otherwise } of rows) {
    const cells: string[] = [];
    for (const probe of probes) cells.push(await look(probe));
    lines.push(row([subject, ...cells, otherwise]));
  }
  return `## ${title}\n\n${lines.join("\n")}\n`;
}

/** The cells of one row of the page, newest revision first. */
export function readRow(page: string, subject: string): readonly string[] {
  const line = page.split("\n").find((each) => each.startsWith(`| ${subject} |`));
  if (line === undefined) throw new Error(`the page has no row on ${subject}`);
  return line.split(" | ").slice(1, 1 + revisions.length);
}

function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}
