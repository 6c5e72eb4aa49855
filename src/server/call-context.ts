/** What one call has around it: its caller, and how that is reached. Made only as far as it is used. */
import type { Access } from "../core/access.ts";
import type { Call, LogLevel } from "../core/call.ts";
import type { ExchangeContext } from "../core/exchange.ts";
import type { Asking } from "../core/inquiry.ts";
import type { QuestionKind } from "../core/question.ts";
import type { SessionKeeper } from "../core/session.ts";
import type { SessionRecord } from "../stores/session-store.ts";
import { isObject } from "../util/json.ts";
import type { Answerer, Place } from "./answer.ts";
import { CallerKeeper } from "./keeping.ts";
import { watchedAsk } from "./watched.ts";

export class CallContext implements ExchangeContext {
  readonly #call: Call;
  readonly #place: Place;
  readonly #by: Answerer;

  constructor(call: Call, place: Place, by: Answerer) {
    this.#call = call;
    this.#place = place;
    this.#by = by;
  }

  get access(): Access {
    return this.#place.access;
  }

  get session(): SessionRecord | undefined {
    return this.#place.session;
  }

  get keeper(): SessionKeeper {
    const { access, adapter } = this.#place;
    return new CallerKeeper(this.#by.keeping, access.owner, adapter.revision);
  }

  get onDisconnect(): ExchangeContext["onDisconnect"] {
    const { adapter, onDisconnect } = this.#place;
    return adapter.era === "modern" ? onDisconnect : undefined;
  }

  get asking(): Asking {
    return new CallerAsking(this.#call, this.#place, this.#by);
  }

  get tell(): ExchangeContext["tell"] {
    const { adapter, outlet } = this.#place;
    return outlet && ((notice) => outlet().send(adapter.notify(notice)));
  }

  /** A session that set no level hears what an operator would want to read. */
  get logLevel(): LogLevel | undefined {
    const { session } = this.#place;
    return session && (session.logLevel ?? "info");
  }

  get detach(): ExchangeContext["detach"] {
    const { outlet } = this.#place;
    return outlet && ((retryMs) => outlet().detach?.(retryMs));
  }
}

/** How the caller of one call can be asked, by its revision and by what it declared. */
class CallerAsking implements Asking {
  readonly #call: Call;
  readonly #place: Place;
  readonly #by: Answerer;

  constructor(call: Call, place: Place, by: Answerer) {
    this.#call = call;
    this.#place = place;
    this.#by = by;
  }

  mechanic(kind: QuestionKind): ReturnType<Asking["mechanic"]> {
    const { adapter, outlet, binding } = this.#place;
    const mechanic = adapter.asks[kind];
    const { operation } = this.#call;
    switch (mechanic) {
      case "push":
        return outlet === undefined ? "never" : "push";
      case "arguments":
        return operation.kind === "call-tool" && binding.asks(operation.target)
          ? "arguments"
          : "never";
      case "restart":
      case "never":
        return mechanic;
    }
  }

  declared(kind: QuestionKind): boolean {
    const capabilities = this.#call.capabilities ?? this.#place.session?.capabilities ?? {};
    const { elicitation, sampling, roots } = capabilities;
    switch (kind) {
      case "form":
        // An empty capability is the form alone, as it was before there were two.
        return isObject(elicitation) && ("form" in elicitation || !("url" in elicitation));
      case "url":
        return isObject(elicitation) && "url" in elicitation;
      case "sample":
        return isObject(sampling);
      case "roots":
        return isObject(roots);
    }
  }

  async push(...[question, options]: Parameters<Asking["push"]>): Promise<unknown> {
    const { adapter, access, outlet } = this.#place;
    if (outlet === undefined) throw new Error("there is nowhere to ask");
    const asked = adapter.question(question);
    const { pending, telemetry } = this.#by;
    const send = (carrying: typeof asked) => pending.ask(carrying, outlet(), options, access.owner);
    const raw =
      telemetry === undefined
        ? await send(asked)
        : await watchedAsk(asked, this.#place, this.#by, telemetry, send);
    return adapter.answer(question, raw);
  }
}
