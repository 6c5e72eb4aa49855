/**
 * The conversation of one call: what was asked, what is answered, and what was computed in
 * between. A handler is written as if asking blocked; where it cannot, the handler is
 * stopped at the question and run again from the start with the answer at hand.
 */
import type { Awaitable } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { Rejection } from "./errors.ts";
import { failure } from "./outcome.ts";
import { judge, type Mechanic, type Question, type QuestionKind } from "./question.ts";

/**
 * Rounds of one call at most, by whatever mechanic it asks: a handler that never has enough
 * must not ask for ever. What is asked before any answer came is one round.
 */
const maxRounds = 10;

/** How the caller of one call can be asked. */
export interface Asking {
  mechanic(kind: QuestionKind): Mechanic;
  /** Whether the caller declared that it can answer such a question. */
  declared(kind: QuestionKind): boolean;
  /** Sends a question while the call waits. @returns the caller's answer as it came. */
  push(question: Question, options: PushOptions): Promise<unknown>;
}

export interface PushOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What an earlier round left behind. */
export interface Carried {
  readonly round: number;
  /** The questions that the round before ended with. */
  readonly asked: readonly string[];
  readonly answers: JsonObject;
  /** Each value as the one element of a list; an empty list is for undefined. */
  readonly once: JsonObject;
  readonly state: JsonObject;
}

const nothing: Carried = { round: 0, asked: [], answers: {}, once: {}, state: {} };

/** Thrown through a handler to stop it at a question. Not for handlers to catch. */
export class Pause extends Error {
  override readonly name = "Pause";

  constructor() {
    super("the call goes on when its question is answered");
  }
}

export class Inquiry {
  readonly #asking: Asking;
  readonly #answers: Map<string, unknown>;
  /** JSON lists of one value or none. */
  readonly #once: Map<string, string>;
  readonly #open: Map<string, Question> = new Map();
  readonly #running: Map<string, Promise<unknown>> = new Map();
  /** Questions that were pushed and have no answer yet. */
  readonly #pushed: Map<string, Promise<unknown>> = new Map();
  readonly #ended: AbortController = new AbortController();
  /** The last round that was asked in, and the last that has had an answer. */
  #asked: number;
  #answered: number;
  /** Kept from round to round; plain JSON. */
  readonly state: Record<string, unknown>;

  constructor(asking: Asking, carried: Carried = nothing, fresh: JsonObject = {}) {
    this.#asking = asking;
    this.#asked = carried.round;
    this.#answered = carried.round;
    this.#answers = new Map([...Object.entries(carried.answers), ...Object.entries(fresh)]);
    const computed = Object.entries(carried.once);
    this.#once = new Map(computed.map(([key, value]) => [key, JSON.stringify(value)]));
    this.state = { ...carried.state };
  }

  /** The questions that the call ended with, if it did. */
  get open(): ReadonlyMap<string, Question> {
    return this.#open;
  }

  /** What the next round needs to know. */
  carry(): Carried {
    return {
      round: this.#asked,
      asked: [...this.#open.keys()],
      answers: Object.fromEntries(this.#answers),
      once: Object.fromEntries([...this.#once].map(([key, text]) => [key, JSON.parse(text)])),
      state: this.state,
    };
  }

  /** Waits for the answers to what was pushed, or until it is known that there are none. */
  answered(): Awaitable<unknown> {
    return this.#pushed.size === 0 ? undefined : Promise.allSettled([...this.#pushed.values()]);
  }

  /** The call is over: nothing is asked any more, and what waits for an answer is taken back. */
  end(): void {
    this.#ended.abort();
  }

  /** Asks one question, or takes the answer that is there. `fallback` is for nobody to ask. */
  async ask(
    key: string,
    question: Question,
    fallback: { readonly value: unknown } | undefined,
    options: PushOptions,
  ): Promise<unknown> {
    if (this.#answers.has(key)) {
      const answer = await judge(question, this.#answers.get(key));
      if (answer !== undefined) return answer;
      this.#answers.delete(key);
    }
    if (this.#ended.signal.aborted) {
      throw new Error(`the question ${JSON.stringify(key)} was asked after its call had ended`);
    }
    const mechanic = this.#mechanic(question.kind);
    switch (mechanic) {
      case "push":
        return this.#push(key, question, options);
      case "restart":
      case "arguments":
        this.#begin();
        this.#open.set(key, question);
        throw new Pause();
      case "never":
        if (fallback !== undefined) return fallback.value;
        throw new Rejection(cannotAsk(question.kind));
    }
  }

  #mechanic(kind: QuestionKind): Mechanic {
    const mechanic = this.#asking.mechanic(kind);
    // Arguments need nothing of the client: the model carries the question to its user.
    if (mechanic === "arguments" || this.#asking.declared(kind)) return mechanic;
    return "never";
  }

  async #push(key: string, question: Question, options: PushOptions): Promise<unknown> {
    const raw = await this.#answerTo(key, question, options);
    const answer = await judge(question, raw);
    if (answer === undefined) {
      throw new Rejection(
        failure("invalid-params", `the answer to the question ${JSON.stringify(key)} is not valid`),
      );
    }
    return answer;
  }

  /** Sends the question, unless it is asked already: its answer is for all who ask. */
  async #answerTo(key: string, question: Question, options: PushOptions): Promise<unknown> {
    const running = this.#pushed.get(key);
    if (running !== undefined) return running;
    const round = this.#begin();
    const signal = AbortSignal.any([options.signal, this.#ended.signal]);
    const pushed = this.#asking.push(question, { ...options, signal });
    this.#pushed.set(key, pushed);
    try {
      const raw = await pushed;
      this.#answers.set(key, raw);
      return raw;
    } finally {
      this.#answered = Math.max(this.#answered, round);
      this.#pushed.delete(key);
    }
  }

  /** @returns the round of a question that is asked now: the one after the last answer. */
  #begin(): number {
    const round = this.#answered + 1;
    if (round > maxRounds) {
      throw new Rejection(
        failure("internal", `this call has asked ${maxRounds} times and is still not done`),
      );
    }
    this.#asked = Math.max(this.#asked, round);
    return round;
  }

  /**
   * Computes a value once over all rounds of the call. What it returns is carried by the
   * caller, sealed, so it is JSON and not large.
   */
  once<T>(key: string, compute: () => Awaitable<T>): Promise<T> {
    const computed = this.#once.get(key);
    // What was computed under this key is what its caller takes it for.
    if (computed !== undefined) return Promise.resolve(readOnce(computed) as T);
    const running = this.#running.get(key);
    if (running !== undefined) return running as Promise<T>;
    const started = this.#compute(key, compute).finally(() => this.#running.delete(key));
    this.#running.set(key, started);
    return started;
  }

  async #compute<T>(key: string, compute: () => Awaitable<T>): Promise<T> {
    const value = await compute();
    const text = JSON.stringify(value === undefined ? [] : [value]);
    this.#once.set(key, text);
    // Also now as every later round will see it, and apart from what is done to the value.
    return readOnce(text) as T;
  }
}

function readOnce(text: string): unknown {
  const [value] = JSON.parse(text) as readonly unknown[];
  return value;
}

function cannotAsk(kind: QuestionKind) {
  const { what, capability } = needs[kind];
  return failure(
    "missing-capability",
    `this call needs ${what}, and its client has not declared that it can be asked`,
    { requiredCapabilities: capability },
  );
}

const needs: Readonly<
  Record<QuestionKind, { readonly what: string; readonly capability: JsonObject }>
> = {
  form: { what: "an answer from the user (elicitation)", capability: { elicitation: {} } },
  url: {
    what: "the user to visit a page (URL elicitation)",
    capability: { elicitation: { url: {} } },
  },
  sample: { what: "the client's model (sampling)", capability: { sampling: {} } },
  roots: { what: "the client's roots", capability: { roots: {} } },
};

/** Reads what an earlier round left behind; undefined when it is not of this shape. */
export function readCarried(state: JsonObject): Carried | undefined {
  const { round, asked, answers, once } = state;
  if (typeof round !== "number" || !Array.isArray(asked)) return undefined;
  if (!isObject(answers) || !isObject(once) || !isObject(state["state"])) return undefined;
  if (!Object.values(once).every(Array.isArray)) return undefined;
  return { round, asked: asked.map(String), answers, once, state: state["state"] };
}
