/** A client that visits the tour server one way in one revision, with all its traffic judged. */
import type { Client, ClientOptions } from "anyrev/client";
import { expect } from "vitest";
import { openWay, type WayRow } from "./client-ways.ts";
import { connect } from "./connecting.ts";
import { Recording } from "./recording.ts";
import { createTourServer, type TourServer } from "./tour-server.ts";

export interface Visit {
  readonly client: Client;
  readonly tour: TourServer;
  readonly record: Recording;
  /** What the client warned of: nothing, unless the test takes it out. */
  readonly warnings: string[];
}

export async function visit(
  { way, revision }: WayRow,
  options: ClientOptions,
  run: (visit: Visit) => Promise<void>,
): Promise<void> {
  const tour = createTourServer();
  await using opened = await openWay(way, tour.server);
  const record = new Recording(revision);
  const warnings: string[] = [];
  const client = await connect(record.target(opened.target), {
    revisions: revision,
    onWarning: (warning) => warnings.push(warning),
    ...options,
  });
  try {
    await run({ client, tour, record, warnings });
  } finally {
    await client.close();
  }
  expect(record.problems).toEqual([]);
  expect(warnings).toEqual([]);
}

/** Waits until something holds, or throws with what is there instead. */
export async function until<T>(look: () => T, holds: (value: T) => boolean): Promise<T> {
  const end = performance.now() + 5_000;
  for (;;) {
    const value = look();
    if (holds(value)) return value;
    if (performance.now() > end) throw new Error(`it never came: ${JSON.stringify(value)}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}
