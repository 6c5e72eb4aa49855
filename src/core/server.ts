/** Where an author declares: once, for every revision. */

import { type Around, compose } from "./around.ts";
import { Changes } from "./changes.ts";
import { compilePrompt, compileResource, compileTemplate, compileTool } from "./compile.ts";
import type {
  PromptArguments,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  TemplateHandler,
  TemplateOptions,
  ToolHandler,
  ToolOptions,
} from "./declaration.ts";
import { broken, type Service } from "./dispatch.ts";
import { compileJsonSchema } from "./json-schema-compiler.ts";
import type { Log } from "./log.ts";
import { jsonLogs, type Logger, logTo } from "./logger.ts";
import type { Middleware } from "./middleware.ts";
import type { CacheHints, Implementation } from "./model.ts";
import { type Entry, Registry } from "./registry.ts";
import { type StateKeysOptions, StateSealer } from "./request-state.ts";
import type { JsonSchema, Schema, SchemaCompiler } from "./schema.ts";
import { simplifySchema } from "./simplify-schema.ts";

export interface ServerOptions extends Implementation {
  /** How to use this server, for the model. */
  readonly instructions?: string | undefined;
  /**
   * Leaves out of listings what a caller lacks the scopes for. Clients then never learn what
   * more they could ask their user for. @default false
   */
  readonly hideLackingScopes?: boolean | undefined;
  /** Entries on a page of a listing. @default 500 */
  readonly pageSize?: number | undefined;
  readonly cache?:
    | {
        /**
         * For listings and discovery; a listing that not everyone sees alike is private anyway.
         * @default { ttlMs: 0, scope: "public" }, and "private" where callers say who they are
         */
        readonly lists?: CacheHints | undefined;
        /** For readings that say nothing themselves. @default { ttlMs: 0, scope: "private" } */
        readonly reads?: CacheHints | undefined;
      }
    | undefined;
  /**
   * How the state that callers carry between two rounds of a call is sealed. With several
   * workers, or to outlive a restart, it needs `keys`. @default a key made at start
   */
  readonly requestState?: StateKeysOptions | undefined;
  /**
   * Lists input schemas without references and lists of types, for hosts that turn them
   * into another format and refuse or drop either. Checking is not changed by it.
   * @default false: schemas reach the wire as they were written
   */
  readonly simplifySchemas?: boolean | undefined;
  /** Checks raw JSON Schema. @default a built-in interpreter */
  readonly schemaCompiler?: SchemaCompiler | undefined;
  /**
   * Where causes go that no caller may see, entry by entry. @default to `logger`
   */
  readonly log?: Log | undefined;
  /**
   * A structured logger: pino, `console`, {@link jsonLogs}. One that is given hears of each call
   * and each refusal as well, at `info`; `ping` and notifications at `debug`. No arguments, no
   * results, no credentials; sessions and principals by a hash.
   * @default JSON lines on standard error, from `warn` on
   */
  readonly logger?: Logger | undefined;
}

/** Takes a declaration back while serving. */
export interface Declared {
  /** Whether it was still there. */
  remove(): boolean;
}

/** Told from one of an author's own by identity. */
export const publicLists: CacheHints = Object.freeze({ ttlMs: 0, scope: "public" });

const defaults = Object.freeze({
  pageSize: 500,
  lists: publicLists,
  reads: Object.freeze({ ttlMs: 0, scope: "private" }),
} as const);

/**
 * A server: a name, and what it offers. It does not listen by itself; an endpoint serves
 * it, and one server may be served by several.
 */
export class Server implements Service {
  readonly info: Implementation;
  readonly instructions: string | undefined;
  readonly registry: Registry;
  readonly cache: Service["cache"];
  readonly log: Log;
  /** The one that was given. */
  readonly logger: Logger | undefined;
  readonly states: StateSealer;
  readonly changes: Changes = new Changes();
  #around: Around | undefined;
  #middleware: readonly Middleware[] = [];
  readonly #schemaCompiler: SchemaCompiler;
  readonly #simplify: (schema: JsonSchema) => JsonSchema;

  constructor(options: ServerOptions) {
    const {
      instructions,
      pageSize,
      hideLackingScopes,
      cache,
      schemaCompiler,
      simplifySchemas,
      log,
      logger,
      requestState,
      ...info
    } = options;
    const size = pageSize ?? defaults.pageSize;
    if (!Number.isSafeInteger(size) || size < 1) {
      throw new RangeError(`pageSize must be a positive integer, not ${size}`);
    }
    this.info = Object.freeze(info);
    this.instructions = instructions;
    this.registry = new Registry(size, hideLackingScopes);
    this.cache = { lists: cache?.lists ?? defaults.lists, reads: cache?.reads ?? defaults.reads };
    this.logger = logger;
    this.log = log ?? logTo(logger ?? jsonLogs());
    this.states = new StateSealer(requestState);
    this.#schemaCompiler = schemaCompiler ?? compileJsonSchema;
    this.#simplify = simplifySchemas === true ? simplifySchema : (schema) => schema;
  }

  /**
   * Declares a tool. The handler receives arguments that passed `input` and returns a
   * plain value or content. Bad arguments never reach it: the caller is told what to mend.
   *
   * @throws DeclarationError when the name is taken or a schema cannot be served.
   */
  tool<
    const In extends Schema | undefined = undefined,
    const Out extends Schema | undefined = undefined,
  >(name: string, options: ToolOptions<In, Out>, handler: ToolHandler<In, Out>): Declared {
    const entry = compileTool(name, options, handler, this.#schemaCompiler);
    return this.#add({ ...entry, inputSchema: this.#simplify(entry.inputSchema) });
  }

  /** Declares a resource at a fixed URI; `undefined` from the handler means it is not there. */
  resource(uri: string, options: ResourceOptions, handler: ResourceHandler): Declared {
    return this.#add(compileResource(uri, options, handler));
  }

  /** Declares the resources whose URIs an RFC 6570 template matches, in linear time. */
  template<const Uri extends string>(
    uriTemplate: Uri,
    options: TemplateOptions<Uri>,
    handler: TemplateHandler<Uri>,
  ): Declared {
    return this.#add(compileTemplate(uriTemplate, options, handler));
  }

  /** Declares a prompt. Its arguments are strings; those marked `required` are always there. */
  prompt<const Args extends PromptArguments = Record<never, never>>(
    name: string,
    options: PromptOptions<Args>,
    handler: PromptHandler<Args>,
  ): Declared {
    return this.#add(compilePrompt(name, options, handler));
  }

  /**
   * Puts something around every operation, inside what was put there before: audit, quotas,
   * caching. It concerns the calls that begin from then on; where asking takes rounds, each
   * round is one. Without any, calls cost nothing for it.
   */
  use(middleware: Middleware): Declared {
    // The same function may stand there twice.
    const one: Middleware = (call, next) => middleware(call, next);
    this.#surround([...this.#middleware, one]);
    return {
      remove: () => {
        const isThere = this.#middleware.includes(one);
        this.#surround(this.#middleware.filter((each) => each !== one));
        return isThere;
      },
    };
  }

  /** What {@link use} made, for whoever runs an operation. */
  get around(): Around | undefined {
    return this.#around;
  }

  #surround(middleware: readonly Middleware[]): void {
    this.#middleware = middleware;
    this.#around = compose(middleware, broken);
  }

  /**
   * Ends declaring. A frozen server announces that its lists do not change, so that
   * callers need not ask again and may keep them for `cache.lists.ttlMs`.
   */
  freeze(): this {
    this.registry.freeze();
    return this;
  }

  /**
   * Tells whoever watches exactly this URI that the resource is no longer what it was. Changes
   * within 10 ms are told once; where nobody serves or watches, it costs nothing.
   */
  changed(uri: string): void {
    this.changes.add({ kind: "resource-updated", uri });
  }

  #add(entry: Entry): Declared {
    this.registry.add(entry);
    this.#listChanged(entry);
    return {
      remove: () => {
        const removed = this.registry.remove(entry);
        if (removed) this.#listChanged(entry);
        return removed;
      },
    };
  }

  #listChanged({ list }: Entry): void {
    // Templates have no announcement of their own.
    this.changes.add({ kind: "list-changed", list: list === "templates" ? "resources" : list });
  }
}

export function createServer(options: ServerOptions): Server {
  return new Server(options);
}
