/** Runs an operation with everything that stands around it, and holds that to its part. */
import type { Awaitable } from "../util/awaitable.ts";
import type { Call } from "./call.ts";
import { toolThrew } from "./call-tool.ts";
import type { Run } from "./dispatch.ts";
import { control, type Exchange } from "./exchange.ts";
import { promptThrew } from "./get-prompt.ts";
import type {
  AroundCall,
  CallResult,
  Middleware,
  MiddlewareCall,
  ToolResult,
} from "./middleware.ts";
import { type Failure, failure, type Outcome, type ToolValue } from "./outcome.ts";
import { resourceThrew } from "./read-resource.ts";
import { replace } from "./replace.ts";

/** An operation, or what stands around one; undefined for a caller that is gone. */
type Perform = () => Awaitable<Outcome | undefined>;

/** All middleware of a server as one. Never rejects. */
export type Around = (call: Call, run: Run, perform: Perform) => Promise<Outcome | undefined>;

type Step = (turn: Turn) => Promise<CallResult>;

/** @param onThrow - what a throw is that no kind of operation makes anything of */
export function compose(
  list: readonly Middleware[],
  onThrow: (call: Call, cause: unknown, run: Run) => Outcome,
): Around | undefined {
  if (list.length === 0) return undefined;
  const step = list.reduceRight<Step>(
    (inner, middleware) => (turn) => runOne(middleware, turn, inner),
    (turn) => turn.perform(),
  );
  return async (call, run, perform) => {
    const turn = new Turn(call, run, perform, onThrow);
    return turn.toOutcome(await step(turn));
  };
}

async function runOne(middleware: Middleware, turn: Turn, inner: Step): Promise<CallResult> {
  let isOpen = true;
  const next = (): Promise<CallResult> => {
    // Run again, it would do twice what was asked for once; too late, for nobody.
    if (!isOpen) return Promise.reject(new Error("next() can be called once, before returning"));
    isOpen = false;
    return inner(turn);
  };
  try {
    return turn.check(await middleware(turn.call, next));
  } catch (cause) {
    return turn.threw(cause);
  } finally {
    isOpen = false;
  }
}

class Turn {
  readonly call: MiddlewareCall;
  readonly #call: Call;
  readonly #run: Run;
  readonly #perform: Perform;
  readonly #onThrow: Parameters<typeof compose>[1];
  /** What the operation came to, and as what it was shown; undefined until it was performed. */
  #given: { readonly outcome: Outcome | undefined; readonly result: CallResult } | undefined;
  /** Failures that a throw was made into, as the caller gets them. */
  #thrown: { readonly outcome: Outcome; readonly result: CallResult } | undefined;

  constructor(call: Call, run: Run, perform: Perform, onThrow: Parameters<typeof compose>[1]) {
    this.#call = call;
    this.#run = run;
    this.#perform = perform;
    this.#onThrow = onThrow;
    this.call = show(call, run.ex);
  }

  async perform(): Promise<CallResult> {
    const outcome = await this.#perform();
    const result = isStopped(outcome, this.#run.ex) ? asking : toResult(outcome);
    this.#given = { outcome, result };
    return result;
  }

  /** @throws TypeError for what is no result. */
  check(result: CallResult): CallResult {
    if (typeof result === "object" && result !== null && "kind" in result) return result;
    throw new TypeError("a middleware returns what next() gives, or a result in its place");
  }

  threw(cause: unknown): CallResult {
    const outcome = this.#toFailure(cause);
    const result = toResult(outcome);
    this.#thrown = { outcome, result };
    return result;
  }

  async toOutcome(result: CallResult): Promise<Outcome | undefined> {
    const given = this.#given;
    // A question that is open outlasts whatever is made of the stop.
    if (given !== undefined && (result === given.result || given.result === asking)) {
      return given.outcome;
    }
    if (result === this.#thrown?.result) return this.#thrown.outcome;
    try {
      return await replace(result, this.#call.operation, this.#run, given?.outcome);
    } catch (cause) {
      return this.#toFailure(cause);
    }
  }

  #toFailure(cause: unknown): Outcome {
    const { operation } = this.#call;
    try {
      switch (operation.kind) {
        case "call-tool":
          return toolThrew(operation.target, cause, this.#run);
        case "read-resource":
          return resourceThrew(operation.target, cause);
        default:
          return promptThrew(cause);
      }
    } catch (unknown) {
      return this.#onThrow(this.#call, unknown, this.#run);
    }
  }
}

const asking: CallResult = Object.freeze({ kind: "asking" });
const gone: Failure = failure("cancelled", "the caller is gone");

/** As `settle` of dispatch has it. */
function isStopped(outcome: Outcome | undefined, ex: Exchange): boolean {
  const isFinal = outcome?.kind === "failure" && outcome.failure === "missing-capability";
  return control.isPaused(ex) && !isFinal;
}

function toResult(outcome: Outcome | undefined): CallResult {
  if (outcome === undefined) return gone;
  switch (outcome.kind) {
    case "tool":
      return toToolResult(outcome);
    case "page": {
      const { list, entries, nextCursor } = outcome.page;
      return { kind: "list", list, entries, nextCursor };
    }
    case "needs-input":
      return asking;
    default:
      return outcome;
  }
}

function toToolResult({ blocks, structured, isError, meta }: ToolValue): ToolResult {
  if (structured === undefined) return { kind: "tool", content: blocks, isError, meta };
  return { kind: "tool", content: blocks, structured: JSON.parse(structured), isError, meta };
}

/** A class, as an accessor of each object's own would give each a shape of its own. */
class Shown implements AroundCall {
  readonly principal: AroundCall["principal"];
  readonly owner: string;
  readonly client: AroundCall["client"];
  readonly meta: AroundCall["meta"];
  readonly continued: boolean;
  readonly #ex: Exchange;

  constructor({ carried }: Call, ex: Exchange) {
    this.principal = ex.principal;
    this.owner = ex.owner;
    this.client = ex.client;
    this.meta = ex.meta;
    this.continued = carried !== undefined;
    this.#ex = ex;
  }

  /** Made where somebody looks: an AbortController costs more than the rest of it. */
  get signal(): AbortSignal {
    return this.#ex.signal;
  }
}

function show(call: Call, ex: Exchange): MiddlewareCall {
  const { kind, ...named } = call.operation;
  return Object.assign(new Shown(call, ex), { operation: kind }, named) as MiddlewareCall;
}
