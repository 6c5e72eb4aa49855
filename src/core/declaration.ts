/** The shapes an author fills in. */
import type { Awaitable } from "../util/awaitable.ts";
import type { JsonObject } from "../util/json.ts";
import type { Visibility } from "./access.ts";
import type { Bytes, Content } from "./content.ts";
import type { Exchange } from "./exchange.ts";
import type { Annotations, CacheHints, Icon, PromptMessage, ToolAnnotations } from "./model.ts";
import type { Schema, SchemaInput, SchemaOutput } from "./schema.ts";
import type { TemplateValue } from "./uri-template.ts";

interface DeclarationOptions {
  /** For people; `name` identifies. Shown from 2025-06-18 on. */
  readonly title?: string | undefined;
  /** For the model. */
  readonly description?: string | undefined;
  readonly icons?: readonly Icon[] | undefined;
  readonly meta?: JsonObject | undefined;
  /**
   * The first revision, such as `"2025-06-18"`, in which this exists; before it, it is
   * neither listed nor callable. @default every revision
   */
  readonly since?: string | undefined;
  /**
   * What a caller must have been allowed to use this, all of them. Without one of them it gets
   * 403 with their names, so that its client can ask for more. Over HTTP nobody has any without
   * `auth`; a peer over stdio is who started the server, and has all. @default none
   */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Whether this exists for a caller: for others it is neither listed nor known under its name.
   * Called often, so it looks at nothing but the principal; undefined is somebody unknown, or
   * the peer over stdio. Answers that depend on it are marked as private by themselves.
   * @default for all
   */
  readonly visibleTo?: Visibility | undefined;
}

export interface ToolOptions<In extends Schema | undefined, Out extends Schema | undefined>
  extends DeclarationOptions {
  /** What the arguments must be; its root is an object. @default an object of anything */
  readonly input?: In;
  /** What the result must be. A root that is no object is listed on 2026-07-28 only. */
  readonly output?: Out;
  readonly annotations?: ToolAnnotations | undefined;
  /**
   * The handler asks its user with a form. 2025-03-26 and 2024-11-05 have no way to carry
   * one, so there the tool takes two more arguments, `_answers` and `_state`: the model asks
   * the user, and calls again with the answers. Without this, such callers get the default,
   * or an error. @default false
   */
  readonly asks?: boolean | undefined;
}

export type ToolArguments<In> = In extends Schema ? SchemaOutput<In> : Record<string, unknown>;

/** A plain value, content, or both; nothing at all is a result without content. */
export type ToolReturn<Out> = Out extends Schema ? SchemaInput<Out> | Content : unknown;

export type ToolHandler<In, Out> = (
  args: ToolArguments<In>,
  ex: Exchange,
) => Awaitable<ToolReturn<Out>>;

export interface ResourceOptions extends DeclarationOptions {
  /** @default the URI or the template */
  readonly name?: string | undefined;
  readonly mimeType?: string | undefined;
  readonly annotations?: Annotations | undefined;
  /** How long a reading may be kept. @default the server's `cache.reads` */
  readonly cache?: CacheHints | undefined;
  /** Bytes, where known. Templates have none. */
  readonly size?: number | undefined;
}

export interface TemplateOptions<Uri extends string> extends Omit<ResourceOptions, "size"> {
  /** Suggestions for the template's variables. */
  readonly complete?: { readonly [V in VariableName<Uri>]?: Completer } | undefined;
}

/** One reading: text, bytes, or more said about either. */
export type ResourcePart =
  | string
  | Uint8Array
  | ({
      readonly uri?: string | undefined;
      readonly mimeType?: string | undefined;
      readonly meta?: JsonObject | undefined;
    } & ({ readonly text: string } | { readonly blob: Bytes }));

/** Several parts for a resource that holds several; `undefined` where there is none. */
export type ResourceReturn = ResourcePart | readonly ResourcePart[] | undefined;

export type ResourceHandler = (uri: string, ex: Exchange) => Awaitable<ResourceReturn>;

export type TemplateHandler<Uri extends string> = (
  variables: Variables<Uri>,
  ex: Exchange,
) => Awaitable<ResourceReturn>;

type Bare<V extends string> = V extends `${infer Name}*`
  ? Name
  : V extends `${infer Name}:${string}`
    ? Name
    : V;

type Split<List extends string> = List extends `${infer Head},${infer Tail}`
  ? Head | Split<Tail>
  : List;

type Unsigned<E extends string> =
  E extends `${"+" | "#" | "." | "/" | ";" | "?" | "&"}${infer Rest}` ? Rest : E;

type Expressions<Uri extends string> = Uri extends `${string}{${infer Expression}}${infer Rest}`
  ? Expression | Expressions<Rest>
  : never;

type Specs<Uri extends string> = Split<Unsigned<Expressions<Uri>>>;

/** An expression with one of these operators may be missing from a URI that matches. */
type Omissible = "#" | "." | "/" | ";" | "?" | "&";

/** The variables that every URI which matches gives a value, at least an empty one. */
type AlwaysThere<E extends string> = E extends `${Omissible}${string}`
  ? never
  : Unsigned<E> extends `${infer Head},${string}`
    ? Head
    : Unsigned<E>;

/** The names of the variables in an RFC 6570 template literal. */
export type VariableName<Uri extends string> = string extends Uri ? string : Bare<Specs<Uri>>;

/**
 * What a URI that matched gave to each variable. An exploded one may be a list or a map;
 * one that a URI can do without, such as that of `{?page}`, may be undefined.
 */
export type Variables<Uri extends string> = string extends Uri
  ? Readonly<Record<string, TemplateValue | undefined>>
  : {
      readonly [S in Specs<Uri> as Bare<S>]: S extends `${string}*`
        ? TemplateValue | undefined
        : S extends AlwaysThere<Expressions<Uri>>
          ? string
          : string | undefined;
    };

export interface PromptArgument {
  readonly title?: string | undefined;
  readonly description?: string | undefined;
  /** @default false */
  readonly required?: boolean | undefined;
  readonly complete?: Completer | undefined;
}

export interface PromptOptions<Args extends PromptArguments> extends DeclarationOptions {
  // The second part types the parameters of completers while `Args` is still being inferred.
  readonly arguments?: (Args & PromptArguments) | undefined;
}

export type PromptArguments = Readonly<Record<string, PromptArgument>>;

export type PromptValues<Args extends PromptArguments> = {
  readonly [K in keyof Args]: Args[K] extends { readonly required: true }
    ? string
    : string | undefined;
};

export type PromptReturn =
  | string
  | Content
  | readonly PromptMessage[]
  | {
      readonly description?: string | undefined;
      readonly messages: readonly PromptMessage[];
    };

export type PromptHandler<Args extends PromptArguments> = (
  args: PromptValues<Args>,
  ex: Exchange,
) => Awaitable<PromptReturn>;

/**
 * Suggestions for one argument: a list, filtered by what was typed, or a function that
 * finds them. At most 100 are sent, best first.
 */
export type Completer =
  | readonly string[]
  | ((
      value: string,
      context: { readonly arguments: Readonly<Record<string, string>> },
      ex: Exchange,
    ) => Awaitable<
      | readonly string[]
      | {
          readonly values: readonly string[];
          readonly total?: number | undefined;
          readonly hasMore?: boolean | undefined;
        }
    >);
