/**
 * The conversation of one call: what was asked, what is answered, and what was computed in
 * between. A handler is written as if asking blocked; where it cannot, the handler is
 * stopped at the question and run again from the start with the answer at hand.
 */
import { type Awaitable, isPromise } from "../util/awaitable.ts";
import { isObject, type JsonObject } from "../util/json.ts";
import { Rejection } from "./errors.ts";
import { failure } from "./outcome.ts";
import { judge, type Mechanic, type Question, type QuestionKind } from "./question.ts";

/** Rounds of one call at most: a handler that never has enough must not ask for ever. */
export const maxRounds = 10;

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
  readonly #carried: Carried;
  readonly #answers: Map<string, unknown>;
  readonly #once: Map<string, unknown>;
  readonly #open: Map<string, Question> = new Map();
  readonly #running: Map<string, Promise<unknown>> = new Map();
  /** Pushed questions that wait for their answers. */
  readonly #pushed: Set<Promise<unknown>> = new Set();
  readonly #ended: AbortController = new AbortController();
  /** Kept from round to round; plain JSON. */
  readonly state: Record<string, unknown>;

  constructor(asking: Asking, carried: Carried = nothing, fresh: JsonObject = {}) {
    this.#asking = asking;
    this.#carried = carried;
    this.#answers = new Map([...Object.entries(carried.answers), ...Object.entries(fresh)]);
    this.#once = new Map(Object.entries(carried.once));
    this.state = { ...carried.state };
  }

  /** The questions that the call ended with, if it did. */
  get open(): ReadonlyMap<string, Question> {
    return this.#open;
  }

  /** What the next round needs to know. */
  carry(): Carried {
    return {
      round: this.#carried.round + 1,
      asked: [...this.#open.keys()],
      answers: Object.fromEntries(this.#answers),
      once: Object.fromEntries(this.#once),
      state: this.state,
    };
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
    const mechanic = this.#mechanic(question.kind);
    switch (mechanic) {
      case "push":
        return this.#push(key, question, options);
      case "restart":
      case "arguments":
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

  /**
   * Waits for what was pushed, once the handler has ended: for the answers, where the call
   * goes on in another round, so that nobody is asked twice; else only until each question
   * is taken back.
   */
  settled(): Awaitable<unknown> {
    if (this.#pushed.size === 0) return undefined;
    if (this.#open.size === 0) this.#ended.abort();
    return Promise.allSettled([...this.#pushed]);
  }

  #push(key: string, question: Question, options: PushOptions): Promise<unknown> {
    const signal = AbortSignal.any([options.signal, this.#ended.signal]);
    const pushed = this.#pushAndJudge(key, question, { ...options, signal });
    this.#pushed.add(pushed);
    return pushed.finally(() => this.#pushed.delete(pushed));
  }

  async #pushAndJudge(key: string, question: Question, options: PushOptions): Promise<unknown> {
    const raw = await this.#asking.push(question, options);
    const answer = await judge(question, raw);
    if (answer === undefined) {
      throw new Rejection(
        failure("invalid-params", `the answer to the question ${JSON.stringify(key)} is not valid`),
      );
    }
    this.#answers.set(key, raw);
    return answer;
  }

  /**
   * Computes a value once over all rounds of the call. What it returns is carried by the
   * caller, sealed, so it is JSON and not large.
   */
  once<T>(key: string, compute: () => Awaitable<T>): Promise<T> {
    if (this.#once.has(key)) return Promise.resolve(this.#once.get(key) as T);
    const running = this.#running.get(key);
    if (running !== undefined) return running as Promise<T>;
    const started = this.#compute(key, compute);
    this.#running.set(key, started);
    return started;
  }

  async #compute<T>(key: string, compute: () => Awaitable<T>): Promise<T> {
    const computed = compute();
    const value = isPromise(computed) ? await computed : computed;
    this.#once.set(key, value === undefined ? null : value);
    return value;
  }
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
  return { round, asked: asked.map(String), answers, once, state: state["state"] };
}
