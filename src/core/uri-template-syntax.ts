/**
 * Reading the text of a URI template (RFC 6570 section 2) into literals and expressions.
 * Expansion and matching both start from what this file returns.
 */

export type TemplateValue = string | readonly string[] | Readonly<Record<string, string>>;

/** `Array.isArray` does not tell a readonly array from an object to the compiler. */
export function isList(value: TemplateValue): value is readonly string[] {
  return Array.isArray(value);
}

/** A row of the table in RFC 6570 appendix A. */
export interface Operator {
  /** Written before the first defined variable. */
  readonly first: string;
  readonly separator: string;
  /** Whether each value is written as `name=value`. */
  readonly named: boolean;
  /** Written after the name when the value is empty. */
  readonly ifEmpty: string;
  /** Whether reserved characters and escapes in a value are kept as they are. */
  readonly keepsReserved: boolean;
}

export interface TemplateVariable {
  readonly name: string;
  /** Code points of the value that take part; `Infinity` without a `:n` modifier. */
  readonly prefix: number;
  readonly explode: boolean;
}

export interface TemplateLiteral {
  readonly kind: "literal";
  readonly text: string;
}

export interface TemplateExpression {
  readonly kind: "expression";
  readonly operator: Operator;
  readonly variables: readonly TemplateVariable[];
}

export type TemplatePart = TemplateLiteral | TemplateExpression;

/** Bounds what one template can cost each time a URI is held against it. */
const MAX_VARIABLES = 64;

function operator(first: string, separator: string, named: boolean, ifEmpty: string): Operator {
  return { first, separator, named, ifEmpty, keepsReserved: false };
}

const SIMPLE = operator("", ",", false, "");

const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ["+", { ...SIMPLE, keepsReserved: true }],
  ["#", { ...operator("#", ",", false, ""), keepsReserved: true }],
  [".", operator(".", ".", false, "")],
  ["/", operator("/", "/", false, "")],
  [";", operator(";", ";", true, "")],
  ["?", operator("?", "&", true, "=")],
  ["&", operator("&", "&", true, "=")],
]);

/** RFC 6570 section 2.2, op-reserve. */
const RESERVED_OPERATORS = "=,!@|";

/**
 * The first character that RFC 6570 section 2.1 does not allow in a literal. The apostrophe is
 * allowed, as erratum 6937 says.
 */
const NOT_LITERAL =
  /%(?![0-9A-Fa-f]{2})|[^!#$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~\u00A0-\uD7FF\uE000-\u{10FFFF}]/u;

/** RFC 6570 section 2.3, varname: a dot only stands between other characters. */
const NAME = /^(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*/;

/** RFC 6570 section 2.4: at most one modifier, and a prefix length below 10000. */
const MODIFIER = /^(?:\*|:([1-9]\d{0,3}))?$/;

export function malformedTemplate(source: string, index: number, advice: string): TypeError {
  return new TypeError(`URI template "${source}" at index ${index}: ${advice}`);
}

/** @throws TypeError for a template that RFC 6570 section 2 does not allow. */
export function toTemplateParts(source: string): readonly TemplatePart[] {
  const parts: TemplatePart[] = [];
  let variableCount = 0;
  let at = 0;
  while (at < source.length) {
    const open = source.indexOf("{", at);
    const literalEnd = open === -1 ? source.length : open;
    if (literalEnd > at) parts.push(toLiteral(source, at, literalEnd));
    if (open === -1) break;
    const close = source.indexOf("}", open);
    if (close === -1) {
      throw malformedTemplate(source, open, 'this "{" is never closed; add a "}" after its names');
    }
    const expression = toExpression(source, open + 1, close);
    variableCount += expression.variables.length;
    if (variableCount > MAX_VARIABLES) {
      throw malformedTemplate(source, open, `use at most ${MAX_VARIABLES} variables in a template`);
    }
    parts.push(expression);
    at = close + 1;
  }
  return parts;
}

function toLiteral(source: string, from: number, to: number): TemplateLiteral {
  const text = source.slice(from, to);
  const bad = text.search(NOT_LITERAL);
  if (bad === -1) return { kind: "literal", text };
  const character = String.fromCodePoint(text.codePointAt(bad) ?? 0);
  const advice = /\p{Surrogate}/u.test(character)
    ? "half of a surrogate pair; write the whole character"
    : `"${character}" cannot stand outside an expression; write it as "${encodeURIComponent(character)}"`;
  throw malformedTemplate(source, from + bad, advice);
}

function toExpression(source: string, from: number, to: number): TemplateExpression {
  const mark = source.charAt(from);
  if (from < to && RESERVED_OPERATORS.includes(mark)) {
    throw malformedTemplate(
      source,
      from,
      `"${mark}" is reserved; use one of + # . / ; ? & or no operator`,
    );
  }
  const known = OPERATORS.get(mark);
  const variables: TemplateVariable[] = [];
  let at = known === undefined ? from : from + 1;
  for (const text of source.slice(at, to).split(",")) {
    variables.push(toVariable(source, at, text));
    at += text.length + 1;
  }
  return { kind: "expression", operator: known ?? SIMPLE, variables };
}

function toVariable(source: string, at: number, text: string): TemplateVariable {
  const name = NAME.exec(text)?.[0] ?? "";
  if (name === "") {
    throw malformedTemplate(
      source,
      at,
      'expected a variable name of letters, digits, "_" and %XX, such as "{id}"',
    );
  }
  const modifier = MODIFIER.exec(text.slice(name.length));
  if (modifier === null) {
    throw malformedTemplate(
      source,
      at + name.length,
      `after the name "${name}" expected ",", "}", one "*", or ":" and a length from 1 to 9999`,
    );
  }
  const length = modifier[1];
  return {
    name,
    prefix: length === undefined ? Number.POSITIVE_INFINITY : Number(length),
    explode: modifier[0] === "*",
  };
}
