/** The notification stream of a handshake session: GET with `Mcp-Session-Id`. */
import type { ChangeableList } from "../core/call.ts";
import type { Adapter } from "../revisions/adapter.ts";
import { encodeEvent } from "../sse/encode.ts";
import type { EventHub } from "../stores/event-hub.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import type { ChangeFeed } from "./changes.ts";
import { matches } from "./changes.ts";
import { EventStream } from "./event-stream.ts";
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
  readonly adapter: Adapter;
  readonly lastEventId: string | undefined;
  readonly closing: AbortSignal;
}

/** @returns undefined when the event to go on from is unknown or too old. */
export async function openSessionStream(
  options: SessionStreamOptions,
): Promise<EventStream | undefined> {
  const { hub, session, lastEventId, adapter } = options;
  const resumes = lastEventId !== undefined && adapter.resumption !== "none";
  const stream = new EventStream();
  if (resumes && !lastEventId.startsWith(feedPrefix)) {
    const known = await resumeStream(hub, session.id, lastEventId, stream);
    return known ? stream : undefined;
  }
  await takeOver(options, stream);
  await followChanges(options, stream, resumes ? lastEventId.slice(feedPrefix.length) : undefined);
  return stream;
}

async function followChanges(
  { feed, sessions, session, adapter, closing }: SessionStreamOptions,
  stream: EventStream,
  from: string | undefined,
): Promise<void> {
  const over = endOf(stream, closing);
  const start = await feed.position();
  const numbered = adapter.resumption !== "none";
  if (adapter.resumption === "primed") {
    stream.write(encodeEvent({ id: `${feedPrefix}${from ?? start}`, data: "", retryMs: 1_000 }));
  } else stream.write(":\n\n");
  const tell = async (change: Parameters<typeof matches>[1], cursor: string): Promise<void> => {
    // What the session watches may have changed since the stream was opened.
    const live = await sessions.find(session.id);
    if (live === undefined) stream.end();
    else if (matches({ lists, uris: live.subscriptions }, change)) {
      const data = JSON.stringify(adapter.notify(change));
      const id = numbered ? `${feedPrefix}${cursor}` : undefined;
      stream.write(encodeEvent({ event: "message", id, data }));
    }
  };
  let order: Promise<unknown> = Promise.resolve();
  const onChange = (...change: Parameters<typeof tell>): void => {
    order = order.then(() => tell(...change));
  };
  const reached = from !== undefined && (await feed.follow(from, onChange, over));
  // What was missed is lost; the reader can still hear what comes from here on.
  if (!reached) await feed.follow(start, onChange, over);
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
  // From its own event on: another that comes at the same time stands before it or after.
  const start = await hub.publish(topic, "taken");
  await hub.follow(topic, start, () => stream.end(), endOf(stream, closing));
}

/** Ends the streams of a session that has ended. */
export function endSessionStreams(hub: EventHub, session: string): unknown {
  return hub.publish(controlTopic(session), "ended");
}

function controlTopic(session: string): string {
  return `session:${session}`;
}

/** Aborts when the stream is over, and ends the stream when the server closes. */
function endOf(stream: EventStream, closing: AbortSignal): AbortSignal {
  const ended = new AbortController();
  const onClosing = (): void => stream.end();
  stream.onClose(() => {
    closing.removeEventListener("abort", onClosing);
    ended.abort();
  });
  if (closing.aborted) stream.end();
  else closing.addEventListener("abort", onClosing, { once: true });
  return ended.signal;
}
