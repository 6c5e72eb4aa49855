/** A stranger's text, short and plain enough for a log or an error. */

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
const escapes = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|.?)/g;
const controls = /[\p{Cc}\p{Cs}\u2028\u2029]+/gu;

/**
 * The start of it on one line, without what a terminal would act on: a server must not
 * recolour or rewrite what a person reads about it.
 */
export function excerpt(text: string, maxLength = 200): string {
  const plain = text
    .slice(0, 4 * maxLength)
    .replace(escapes, "")
    .replace(controls, " ")
    .trim();
  return plain.length > maxLength || text.length > 4 * maxLength
    ? `${plain.slice(0, maxLength)}…`
    : plain;
}
