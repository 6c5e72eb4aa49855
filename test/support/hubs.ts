/** Hubs that are slow, or fail. */
import type { EventHub, HubEvent } from "anyrev";

export type HubMethod = keyof EventHub;

/** A hub whose methods can be replaced one by one. */
export function withMethods(hub: EventHub, methods: Partial<EventHub>): EventHub {
  return {
    publish: (topic, data) => hub.publish(topic, data),
    position: (topic) => hub.position(topic),
    exists: (topic) => hub.exists(topic),
    follow: (...args) => hub.follow(...args),
    delete: (topic) => hub.delete(topic),
    ...methods,
  };
}

/** A hub as it is across a network: everything takes its time, and events come later still. */
export function remote(hub: EventHub, delayMs = 2): EventHub {
  const wait = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, delayMs));
  return {
    publish: async (topic, data) => {
      await wait();
      return hub.publish(topic, data);
    },
    position: async (topic) => {
      await wait();
      return hub.position(topic);
    },
    exists: async (topic) => {
      await wait();
      return hub.exists(topic);
    },
    follow: async (topic, after, onEvent, signal) => {
      await wait();
      let order: Promise<unknown> = Promise.resolve();
      const come = (event: HubEvent): void => {
        order = order.then(wait).then(() => {
          if (!signal.aborted) onEvent(event);
        });
      };
      return hub.follow(topic, after, come, signal);
    },
    delete: async (topic) => {
      await wait();
      await hub.delete(topic);
    },
  };
}

/** How a method may fail: at once, or later. */
export const failures: readonly (readonly [string, () => never])[] = [
  [
    "throws",
    () => {
      throw new Error("the hub is down");
    },
  ],
  // A rejected promise is no value of any type, and so of every one.
  ["rejects", () => Promise.reject(new Error("the hub is down")) as never],
];
