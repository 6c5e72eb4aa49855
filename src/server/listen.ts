/** `subscriptions/listen`: a request that is answered only when listening ends. */

import type { Access } from "../core/access.ts";
import type { ListenFilter } from "../core/call.ts";
import { failure, type Outcome } from "../core/outcome.ts";
import type { RequestId } from "../jsonrpc/message.ts";
import type { Adapter } from "../revisions/adapter.ts";
import type { Ending } from "../util/ending.ts";
import type { ChangeFeed } from "./changes.ts";
import { matches } from "./changes.ts";
import { onExpiry } from "./expiry.ts";
import type { Outlet } from "./outlet.ts";

export interface Listening {
  readonly id: RequestId;
  readonly filter: ListenFilter;
  readonly adapter: Adapter;
  readonly access: Access;
  readonly outlet: Outlet | undefined;
  /** Aborts when the caller has had enough, or is gone. */
  readonly gone: AbortSignal;
  /** Comes when the server closes. */
  readonly closing: Ending;
}

/**
 * Acknowledges what will be told, then tells it. The acknowledgement comes first, and
 * nothing comes that was not asked for (basic/patterns/subscriptions, 2026-07-28).
 *
 * @returns the outcome at a graceful end; undefined when the caller is gone.
 */
export async function listen(feed: ChangeFeed, listening: Listening): Promise<Outcome | undefined> {
  const { id, adapter, access, outlet, gone, closing } = listening;
  if (outlet === undefined || adapter.acknowledge === undefined) {
    return failure("not-acceptable", "listening needs a stream; accept text/event-stream");
  }
  const filter = feed.honoured(listening.filter, access);
  // Taken before the acknowledgement, so that no change falls between the two.
  const start = await feed.position();
  outlet.send(adapter.acknowledge(filter, id));
  const ended: Outcome = { kind: "empty", subscription: id };
  // What can never tell anything would only hold a connection and its timers.
  if (filter.lists.length === 0 && filter.uris.length === 0) return ended;
  const over = endOf(gone, closing, access);
  await feed.follow(
    start,
    (change) => {
      if (matches(filter, change) && feed.tells(change, access))
        outlet.send(adapter.notify(change, id));
    },
    over,
  );
  await aborted(over);
  return gone.aborted && !closing.over ? undefined : ended;
}

/** Aborts at whichever comes first. */
function endOf(gone: AbortSignal, closing: Ending, access: Access): AbortSignal {
  const over = new AbortController();
  const forget = closing.onEnd(() => over.abort());
  over.signal.addEventListener(
    "abort",
    onExpiry(access, () => over.abort()),
    { once: true },
  );
  const onGone = (): void => {
    forget();
    over.abort();
  };
  if (gone.aborted) onGone();
  else gone.addEventListener("abort", onGone, { once: true });
  return over.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
