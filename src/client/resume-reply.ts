/**
 * A reply whose stream broke before it came, over other connections: each goes on from the
 * newest event (basic/transports, Resumability and Redelivery, 2025-11-25).
 */
import type { RpcReply } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { Ending } from "../util/ending.ts";
import { ClientError } from "./errors.ts";
import type { HttpAnswer } from "./http-exchange.ts";
import { isPassing } from "./http-failure.ts";
import { type Position, toLastEventId } from "./http-way.ts";
import { Patience } from "./patience.ts";
import type { CallSignal } from "./transport.ts";

export interface Resuming {
  /** Of this one stream: event ids of others mean nothing here. */
  readonly position: Position;
  readonly signal: CallSignal;
  readonly ending: Ending;
  readonly resumption: Adapter["resumption"];
  readonly attempts: number;
  readonly withinMs: number;
  /** A stream that goes on after this event, or why there is none. */
  readonly open: (from: string) => Promise<HttpAnswer | ClientError>;
  /** @returns undefined when the stream broke again before the reply */
  readonly read: (answer: HttpAnswer) => Promise<RpcReply | undefined>;
}

/** For a server that takes up streams and ends them without a word. */
const barrenMs = 5_000;

/** @throws ClientError `interrupted` when the reply can no longer come, `unauthorized` */
export async function resumeReply(resuming: Resuming): Promise<RpcReply> {
  const { position, signal, ending, attempts, withinMs } = resuming;
  const patience = new Patience({ failures: attempts, withinMs, barrenMs });
  let why: ClientError | undefined;
  for (;;) {
    signal.throwIfAborted();
    const from = resuming.resumption === "none" ? undefined : toLastEventId(position);
    if (from === undefined) throw interrupted("the stream ended before the reply came");
    const enough = await patience.wait(position.retryMs, signal, ending);
    if (enough !== undefined) throw unresumed(enough, why);
    const opened = await resuming.open(from);
    if (opened instanceof ClientError) {
      why = passing(opened);
      patience.failed(opened.retryAfterMs);
      continue;
    }
    const reply = await patience.during(position, () => resuming.read(opened));
    if (reply !== undefined) return reply;
  }
}

/** @throws what another try would not change */
function passing(why: ClientError): ClientError {
  if (why.kind === "unauthorized") throw why;
  // The session that is gone among them: what was asked may have been done in it.
  if (!isPassing(why)) throw unresumed(why.message, why);
  return why;
}

function unresumed(why: string, cause: ClientError | undefined): ClientError {
  return interrupted(`the stream could not be resumed: ${why}`, cause);
}

function interrupted(message: string, cause?: ClientError): ClientError {
  return new ClientError("interrupted", message, { cause });
}
