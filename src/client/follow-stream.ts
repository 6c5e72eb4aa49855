/**
 * The stream on which a server speaks outside of any request, opened again as often as it
 * ends (basic/transports, Listening for Messages from the Server, 2025-11-25).
 */
import type { Adapter } from "../revisions/adapter.ts";
import type { Ending } from "../util/ending.ts";
import { ClientError } from "./errors.ts";
import type { HttpAnswer } from "./http-exchange.ts";
import { isPassing } from "./http-failure.ts";
import { createPosition, type Position, toLastEventId } from "./http-way.ts";
import { Patience } from "./patience.ts";
import type { CallSignal } from "./transport.ts";

export interface Following {
  readonly signal: CallSignal;
  readonly ending: Ending;
  readonly resumption: Adapter["resumption"];
  readonly attempts: number;
  /** A stream, or why there is none. */
  readonly open: (from: string | undefined) => Promise<HttpAnswer | ClientError>;
  readonly onOpen: () => void;
  /** Resolves when the stream has ended, or has broken off. */
  readonly read: (answer: HttpAnswer, position: Position) => Promise<void>;
}

/** For a server that ends each stream at once: it is asked again, but not for ever at once. */
const barrenMs = 60_000;

/**
 * @returns why the server offers no such stream
 * @throws ClientError `session-lost`, `unauthorized`, `interrupted`; the signal's reason
 */
export async function followStream(following: Following): Promise<ClientError> {
  const { signal, ending, attempts } = following;
  const position = createPosition();
  const patience = new Patience({
    failures: attempts,
    withinMs: Number.POSITIVE_INFINITY,
    barrenMs,
  });
  for (;;) {
    const from = following.resumption === "none" ? undefined : toLastEventId(position);
    const opened = await following.open(from);
    if (!(opened instanceof ClientError)) {
      following.onOpen();
      await patience.during(position, () => following.read(opened, position));
    } else if (isPassing(opened)) patience.failed(opened.retryAfterMs);
    else if (from === undefined || isFinal(opened)) return refused(opened);
    else {
      // What was missed is lost, but what comes from here on is not.
      position.lastEventId = undefined;
      continue;
    }
    const enough = await patience.wait(position.retryMs, signal, ending);
    if (enough === undefined) continue;
    const cause = opened instanceof ClientError ? opened : undefined;
    throw new ClientError("interrupted", `the stream could not be opened: ${enough}`, { cause });
  }
}

function isFinal({ kind }: ClientError): boolean {
  return kind === "session-lost" || kind === "unauthorized";
}

function refused(why: ClientError): ClientError {
  if (isFinal(why)) throw why;
  return why;
}
