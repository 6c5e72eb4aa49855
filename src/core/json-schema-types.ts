/** The TypeScript type of what a JSON Schema admits, as far as a literal schema tells it. */

interface Scalars {
  readonly string: string;
  readonly number: number;
  readonly integer: number;
  readonly boolean: boolean;
  readonly null: null;
}

type Flat<T> = { [K in keyof T]: T[K] } & {};

type Names<S> = S extends { readonly required: readonly (infer R)[] } ? R : never;

type Fields<S> = S extends { readonly properties: infer P }
  ? Flat<
      { [K in keyof P as K extends Names<S> ? K : never]: FromJsonSchema<P[K]> } & {
        [K in keyof P as K extends Names<S> ? never : K]?: FromJsonSchema<P[K]>;
      }
    >
  : Record<string, unknown>;

type OfType<S, T> = T extends keyof Scalars
  ? Scalars[T]
  : T extends "object"
    ? Fields<S>
    : T extends "array"
      ? S extends { readonly items: infer I }
        ? FromJsonSchema<I>[]
        : unknown[]
      : unknown;

type Typed<S> = S extends { readonly type: infer T }
  ? T extends readonly (infer Each)[]
    ? OfType<S, Each>
    : OfType<S, T>
  : unknown;

type AnyOf<S> = S extends { readonly anyOf: readonly (infer A)[] } ? FromJsonSchema<A> : unknown;

type OneOf<S> = S extends { readonly oneOf: readonly (infer A)[] } ? FromJsonSchema<A> : unknown;

/** What a value that passes the schema `S` looks like; `unknown` where the schema is no literal. */
export type FromJsonSchema<S> = S extends { readonly const: infer C }
  ? C
  : S extends { readonly enum: readonly (infer E)[] }
    ? E
    : // Alternatives narrow what stands beside them; one that says nothing of types leaves it as it is.
      Typed<S> & AnyOf<S> & OneOf<S>;
