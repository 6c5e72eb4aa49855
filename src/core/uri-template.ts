/**
 * URI templates (RFC 6570, level 4) in both directions: from values to a URI, and from a URI
 * back to the values it was made of.
 */

import { createTemplateMatcher } from "./uri-template-match.ts";
import {
  isList,
  type Operator,
  type TemplateExpression,
  type TemplateValue,
  type TemplateVariable,
  toTemplateParts,
} from "./uri-template-syntax.ts";

export type { TemplateValue } from "./uri-template-syntax.ts";

export interface UriTemplate {
  readonly source: string;
  /** The names in order of appearance, each once. */
  readonly variables: readonly string[];
  /**
   * A variable that is absent or undefined is left out, as the RFC says.
   *
   * @throws TypeError for a list or record where the template asks for a prefix (`{name:3}`).
   */
  expand(values: Readonly<Record<string, TemplateValue | undefined>>): string;
  /**
   * The values, decoded once, or undefined when the URI is not of this form. Never throws, and
   * takes time linear in the URI. Where a URI can be read in several ways, one that `expand`
   * could have written comes first, and earlier variables take as much as they can. Only an exploded variable (`{/path*}`, `{?fields*}`) gives a list,
   * or a record when its pairs have names of their own; variables that were left out are absent.
   * A URI of more than 8192 characters is not looked at.
   */
  match(uri: string): Readonly<Record<string, TemplateValue>> | undefined;
}

type Values = Readonly<Record<string, TemplateValue | undefined>>;

/** @throws TypeError that says where the template is malformed and what would be right. */
export function parseUriTemplate(source: string): UriTemplate {
  const parts = toTemplateParts(source);
  const names = parts.flatMap((part) =>
    part.kind === "literal" ? [] : part.variables.map(({ name }) => name),
  );
  // RFC 6570 section 3.1: a literal is encoded like a value that keeps reserved characters.
  const writers = parts.map((part) => {
    if (part.kind === "expression") return (values: Values) => expandExpression(part, values);
    const text = encodeKeepingReserved(part.text);
    return () => text;
  });
  return Object.freeze({
    source,
    variables: Object.freeze([...new Set(names)]),
    expand: (values: Values) => writers.map((write) => write(values)).join(""),
    match: createTemplateMatcher(source, parts),
  });
}

function expandExpression({ operator, variables }: TemplateExpression, values: Values): string {
  const pieces = variables.flatMap((variable) => {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    return value === undefined ? [] : toPieces(operator, variable, value);
  });
  return pieces.length === 0 ? "" : operator.first + pieces.join(operator.separator);
}

/** What goes between separators: RFC 6570 section 3.2.1. No piece means undefined. */
function toPieces(operator: Operator, variable: TemplateVariable, value: TemplateValue): string[] {
  const { name, prefix, explode } = variable;
  if (typeof value === "string") {
    return [labelled(operator, name, encode(operator, firstCharacters(operator, value, prefix)))];
  }
  if (Number.isFinite(prefix)) {
    // RFC 6570 section 2.4.1: prefix modifiers do not apply to composite values.
    throw new TypeError(
      `URI template variable "${name}:${prefix}" takes a string, not a list or record`,
    );
  }
  if (isList(value)) {
    const items = value.map((item) => encode(operator, item));
    if (explode)
      return operator.named ? items.map((item) => labelled(operator, name, item)) : items;
    return items.length === 0 ? [] : [labelled(operator, name, items.join(","))];
  }
  const pairs = Object.entries(value).map(([key, item]): readonly [string, string] => [
    encode(operator, key),
    encode(operator, item),
  ]);
  if (explode) {
    return pairs.map(([key, item]) =>
      operator.named ? labelled(operator, key, item) : `${key}=${item}`,
    );
  }
  return pairs.length === 0 ? [] : [labelled(operator, name, pairs.flat().join(","))];
}

function labelled(operator: Operator, label: string, text: string): string {
  if (!operator.named) return text;
  return text === "" ? label + operator.ifEmpty : `${label}=${text}`;
}

function encode(operator: Operator, text: string): string {
  if (operator.keepsReserved) return encodeKeepingReserved(text);
  // `encodeURIComponent` leaves five characters alone that RFC 3986 does not count as unreserved.
  return encodeText(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** RFC 6570 section 3.2.3: reserved characters and whole escapes stay, a lone "%" does not. */
function encodeKeepingReserved(text: string): string {
  return text.replace(/%(?![\dA-Fa-f]{2})|[^\w\-.~:/?#[\]@!$&'()*+,;=%]+/g, encodeText);
}

/** Half a surrogate pair has no UTF-8, so it becomes U+FFFD, as in the URL standard. */
function encodeText(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, "\uFFFD"));
}

/** One character of a value that keeps its escapes: the octets of a code point stay together. */
const CHARACTER_OR_ESCAPE =
  /%[0-7][\dA-F]|%[CD][\dA-F]%[89AB][\dA-F]|%E[\dA-F](?:%[89AB][\dA-F]){2}|%F[0-7](?:%[89AB][\dA-F]){3}|%[\dA-F]{2}|./gisu;

/** RFC 6570 section 2.4.1: a prefix counts code points, before anything is encoded. */
function firstCharacters(operator: Operator, text: string, count: number): string {
  if (count >= text.length) return text;
  const characters = operator.keepsReserved
    ? (text.match(CHARACTER_OR_ESCAPE) ?? [])
    : Array.from(text);
  return characters.slice(0, count).join("");
}
