/** The notification stream of a handshake session: GET with `Mcp-Session-Id`. */

import type { Access } from "../core/access.ts";
import type { ChangeableList } from "../core/call.ts";
import type { Change } from "../core/notice.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { encodeEvent } from "../sse/encode.ts";
import type { Cursor, EventHub } from "../stores/event-hub.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import type { Ending } from "../util/ending.ts";
import type { ChangeFeed } from "./changes.ts";
import { matches } from "./changes.ts";
import { EventStream } from "./event-stream.ts";
import { onExpiry } from "./expiry.ts";
import { resumeStream } from "./outlet.ts";
import type { Sessions } from "./sessions.ts";

const lists: readonly ChangeableList[] = ["tools", "resources", "prompts"];

/** Event ids of this stream; those of a call's stream begin with the stream's own id. */
const feedPrefix = "changes.";

export interface SessionStreamOptions {
  readonly hub: EventHub;
  readonly feed: ChangeFeed;
  readonly sessions: Sessions;
  readonly session: SessionRecord;
  readonly access: Access;
  readonly adapter: Adapter;
  readonly lastEventId: string | undefined;
  readonly closing: Ending;
  /** @default 20000 */
  readonly keepAliveMs?: number | undefined;
  /** Hears what the hub or the store failed at; the stream has been ended then. */
  readonly onFault: (cause: unknown) => void;
}

/** @returns undefined when the event to go on from is unknown or too old. */
export async function openSessionStream(
  options: SessionStreamOptions,
): Promise<EventStream | undefined> {
  const stream = new EventStream(options.keepAliveMs);
  stream.onClose(onExpiry(options.access, () => stream.end()));
  try {
    if (await fill(options, stream)) return stream;
  } catch (cause) {
    // Whatever follows for it already is to end with it.
    stream.disconnect();
    throw cause;
  }
  stream.disconnect();
  return undefined;
}

/** @returns whether there is anything to go on from, where that was asked for. */
async function fill(options: SessionStreamOptions, stream: EventStream): Promise<boolean> {
  const { hub, session, lastEventId, adapter, closing } = options;
  const resumes = lastEventId !== undefined && adapter.resumption !== "none";
  if (resumes && !lastEventId.startsWith(feedPrefix)) {
    endOf(stream, closing);
    return resumeStream(hub, session.id, lastEventId, stream);
  }
  await takeOver(options, stream);
  await followChanges(options, stream, resumes ? lastEventId.slice(feedPrefix.length) : undefined);
  return true;
}

async function followChanges(
  options: SessionStreamOptions,
  stream: EventStream,
  from: string | undefined,
): Promise<void> {
  const { feed, closing } = options;
  const over = endOf(stream, closing);
  const start = await feed.position();
  const onChange = inOrder(options, stream);
  // The headers go out with the first bytes, and until then nobody knows that it is open.
  stream.write(":\n\n");
  if (from !== undefined && (await feed.follow(from, onChange, over))) return;
  // What was missed is lost; the reader can still hear what comes from here on.
  if (options.adapter.resumption === "primed") {
    stream.write(encodeEvent({ id: `${feedPrefix}${start}`, data: "", retryMs: 1_000 }));
  }
  if (await feed.follow(start, onChange, over)) return;
  throw new Error("the hub lost where changes stand while a stream was opened");
}

/** Tells changes one after the other, however long the store takes to say who watches what. */
function inOrder(
  { feed, sessions, session, access, adapter, onFault }: SessionStreamOptions,
  stream: EventStream,
): (change: Change, cursor: Cursor) => void {
  const tell = async (change: Change, cursor: Cursor): Promise<void> => {
    if (!stream.open) return;
    // What the session watches may have changed since the stream was opened.
    const live = await sessions.find(session.id, session.principal);
    if (live === undefined) stream.end();
    else if (matches({ lists, uris: live.subscriptions }, change) && feed.tells(change, access)) {
      const data = JSON.stringify(adapter.notify(change));
      const id = adapter.resumption === "none" ? undefined : `${feedPrefix}${cursor}`;
      stream.write(encodeEvent({ event: "message", id, data }));
    }
  };
  let order: Promise<unknown> = Promise.resolve();
  return (change, cursor) => {
    order = order
      .then(() => tell(change, cursor))
      .catch((cause: unknown) => {
        // The reader comes back after the last event it has, and nothing is passed over.
        stream.end();
        onFault(cause);
      });
  };
}

/**
 * A message goes to one stream of a session only, so the newest takes the place of the one
 * before, wherever that one is: a client that reconnects is not kept from its messages by
 * a connection that it has lost and the server has not yet noticed
 * (basic/transports, Multiple Connections, 2025-11-25).
 */
async function takeOver(
  { hub, session, closing }: SessionStreamOptions,
  stream: EventStream,
): Promise<void> {
  const topic = controlTopic(session.id);
  // From its own event on: of two at once, the later one is the one that stays.
  const mine = await hub.publish(topic, "taken");
  const known = await hub.follow(topic, mine, () => stream.end(), endOf(stream, closing));
  if (!known) throw new Error("the hub lost the topic of a session while a stream was opened");
}

/** Ends the streams of a session that has ended. */
export function endSessionStreams(hub: EventHub, session: string): unknown {
  return hub.publish(controlTopic(session), "ended");
}

function controlTopic(session: string): string {
  return `session:${session}`;
}

/** Aborts when the stream is over, and ends the stream when the server closes. */
function endOf(stream: EventStream, closing: Ending): AbortSignal {
  const ended = new AbortController();
  const forget = closing.onEnd(() => stream.end());
  stream.onClose(() => {
    forget();
    ended.abort();
  });
  return ended.signal;
}
