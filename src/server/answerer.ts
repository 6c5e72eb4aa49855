/** What an endpoint or a channel answers with, put together once. */

import { type Access, local } from "../core/access.ts";
import type { CacheHints } from "../core/model.ts";
import type { StateSealer } from "../core/request-state.ts";
import { publicLists, type Server } from "../core/server.ts";
import { type Network, type Telemetry, together } from "../core/telemetry.ts";
import type { Adapter, Binding, Encoder } from "../revisions/adapter.ts";
import type { AdapterSet } from "../revisions/adapter-set.ts";
import { allRevisions } from "../revisions/index.ts";
import type { Preamble } from "../revisions/preamble.ts";
import type { Selection } from "../revisions/selection.ts";
import type { EventHub } from "../stores/event-hub.ts";
import { MemoryHub } from "../stores/memory-hub.ts";
import type { Ending } from "../util/ending.ts";
import { accessLog } from "./access-log.ts";
import type { Answerer } from "./answer.ts";
import { ChangeFeed } from "./changes.ts";
import { InFlight } from "./in-flight.ts";
import type { Keeping } from "./keeping.ts";
import type { Load } from "./load.ts";
import { PendingQuestions } from "./pending.ts";
import { RateLimits, type RateOptions } from "./rate-limits.ts";
import { clockFor } from "./session-clock.ts";
import type { Sessions } from "./sessions.ts";

export interface AnswererOptions {
  readonly sessions: Sessions | undefined;
  readonly keeping: Keeping;
  /** Where events are kept; undefined for the memory of this process. */
  readonly hub: EventHub | undefined;
  /** @default the server's own */
  readonly states?: StateSealer | undefined;
  readonly closing: Ending;
  /** What is under way, here and wherever else it is counted together with. */
  readonly load: Load;
  readonly rateLimits: RateOptions["rateLimits"];
  /** Whether callers say who they are, so that answers are not for just anybody. */
  readonly authenticates?: boolean | undefined;
  readonly telemetry: Telemetry | undefined;
  readonly network: Network | undefined;
}

export interface Assembled {
  readonly answerer: Answerer;
  readonly hub: EventHub;
}

export function assemble(
  server: Server,
  adapters: AdapterSet,
  { hub, states, authenticates, telemetry, rateLimits, ...kept }: AnswererOptions,
): Assembled {
  const { sessions, closing } = kept;
  const events = hub ?? new MemoryHub();
  const answerer: Answerer = {
    service: server,
    states: states ?? server.states,
    encoders: encodersOf(server, adapters, sessions !== undefined, authenticates),
    // Only a hub that is shared can bring a cancel or an answer from elsewhere.
    inFlight: new InFlight(hub, closing),
    rates: rateLimits && new RateLimits(rateLimits, server.log),
    pending: new PendingQuestions(hub),
    feed: new ChangeFeed(server, events),
    telemetry: together(telemetry, server.logger && accessLog(server.logger)),
    clock: clockFor(telemetry, kept.network),
    ...kept,
  };
  // A call that is finished yet may have changed something.
  closing.onEnd(() => {
    const { feed, inFlight } = answerer;
    const idle = inFlight.idle();
    if (idle === undefined) feed.close();
    else void idle.then(() => feed.finish());
  });
  return { answerer, hub: events };
}

export function toAdapterSet(revisions: AdapterSet | readonly string[] | undefined): AdapterSet {
  if (revisions === undefined) return allRevisions;
  return "adapters" in revisions ? revisions : allRevisions.narrow(revisions);
}

function encodersOf(
  server: Server,
  adapters: AdapterSet,
  tellsSessions: boolean,
  authenticates = false,
): ReadonlyMap<Adapter, Encoder> {
  const described = {
    info: server.info,
    instructions: server.instructions,
    registry: server.registry,
    lists: listHints(server.cache.lists, authenticates),
    supported: adapters.supported,
    tellsSessions,
  };
  return new Map(adapters.adapters.map((adapter) => [adapter, adapter.encoder(described)]));
}

/** What only some may ask for is shared with all only where its author says so. */
function listHints(hints: CacheHints, authenticates: boolean): CacheHints {
  return authenticates && hints === publicLists ? { ...hints, scope: "private" } : hints;
}

/** Binds messages to what an endpoint serves. */
export class Binder {
  readonly #adapters: AdapterSet;
  readonly #server: Server;
  /** For all callers, where nothing is declared that some cannot see. */
  readonly #shared: ToolFacts;

  constructor(server: Server, adapters: AdapterSet) {
    this.#adapters = adapters;
    this.#server = server;
    this.#shared = this.#factsFor(local);
  }

  bind(preamble: Preamble, selection: Selection, access: Access, overHttp: boolean): Binding {
    // What a caller cannot see must not show in how its request is refused either.
    const facts = this.#server.registry.restricted ? this.#factsFor(access) : this.#shared;
    return {
      served: this.#adapters,
      pinned: selection.reason === "pin" ? selection.revision : undefined,
      http: overHttp ? { version: preamble.header, headers: preamble.headers } : undefined,
      paramHeaders: facts.paramHeaders,
      asks: facts.asks,
    };
  }

  #factsFor(access: Access): ToolFacts {
    const { view } = this.#adapters.newest;
    const tool = (name: string) => this.#server.registry.tool(name, view, access);
    return {
      paramHeaders: (name) => tool(name)?.paramHeaders ?? [],
      asks: (name) => tool(name)?.asks ?? false,
    };
  }
}

type ToolFacts = Pick<Binding, "paramHeaders" | "asks">;
