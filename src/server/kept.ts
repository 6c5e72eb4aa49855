/** Where an endpoint keeps what it keeps, by its options. */
import type { StateSealer } from "../core/request-state.ts";
import type { Server } from "../core/server.ts";
import type { EventHub } from "../stores/event-hub.ts";
import { MemorySessions } from "../stores/memory.ts";
import { MemoryHub } from "../stores/memory-hub.ts";
import type { SessionStore } from "../stores/session-store.ts";
import type { SharedStores } from "../stores/shared-stores.ts";
import type { Ending } from "../util/ending.ts";
import { seekAgreement } from "./agreement.ts";
import type { Keeping } from "./keeping.ts";
import { Readiness } from "./readiness.ts";
import { Sessions } from "./sessions.ts";

export interface StoreOptions {
  /**
   * Stores that all workers of a service share, from `anyrev/stores/*`: sessions, events, keys
   * of request state, and what was used once. What is given apart from them comes first.
   * Close them yourself, after the endpoint. @default the memory of this process
   */
  readonly stores?: SharedStores | undefined;
  /** Where sessions are kept. @default those of `stores`, else the memory of this process */
  readonly sessionStore?: SessionStore | undefined;
  /**
   * Where changes, answers, cancels and resumable streams pass through. Workers that share
   * sessions share it too, or what happens on one is not heard on the others.
   * @default that of `stores`, else the memory of this process
   */
  readonly eventHub?: EventHub | undefined;
}

export interface Kept {
  readonly keeping: Keeping;
  /** Undefined for the memory of this process. */
  readonly hub: EventHub | undefined;
  readonly states: StateSealer;
  readonly readiness: Readiness;
}

export function openKept(server: Server, options: StoreOptions, closing: Ending): Kept {
  const { stores } = options;
  const store = options.sessionStore ?? stores?.sessions ?? new MemorySessions();
  const worker = crypto.randomUUID();
  const probe = (): unknown =>
    // A write, as a database that is locked can still be read.
    stores === undefined ? store.get(worker) : stores.oneTime.claim(`ready-${worker}`, 1);
  return {
    keeping: { store, sessions: new Sessions(store) },
    hub: options.eventHub ?? stores?.hub,
    states: stores === undefined ? server.states : server.states.sharing(stores),
    readiness: new Readiness(probe, closing),
  };
}

/** Looks whether all workers agree, where there may be several. */
export function compareWorkers(
  server: Server,
  { keeping, hub, states }: Kept,
  served: { readonly supported: readonly string[]; readonly keepsSessions: boolean },
  closing: Ending,
): void {
  seekAgreement({
    ...served,
    // What lies in the memory of this process has no other worker.
    hub: hub instanceof MemoryHub ? undefined : hub,
    sharesSessions: !(keeping.store instanceof MemorySessions),
    states,
    log: server.log,
    closing,
  });
}
