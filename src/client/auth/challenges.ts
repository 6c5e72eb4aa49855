/** `WWW-Authenticate` as a client reads it (RFC 9110 section 11.6.1). */

export interface Challenge {
  /** In lower case. */
  readonly scheme: string;
  /** Names in lower case; of those given twice, the first. */
  readonly parameters: ReadonlyMap<string, string>;
}

/** What servers of this protocol say with them (RFC 6750, RFC 9449, RFC 9728). */
export interface Said {
  /** Where the server's metadata is. */
  readonly metadata: string | undefined;
  /** What the operation takes; undefined where nothing is said of it. */
  readonly scopes: readonly string[] | undefined;
  readonly lacksScope: boolean;
  readonly asksForNonce: boolean;
}

/** Longer ones say nothing that anybody needs. */
const maxLength = 16_384;

const blanks = /[\s,]*/y;
const token = /[\w!#$%&'*+.^`|~-]+/y;
const equals = /\s*=\s*/y;
const quoted = /"((?:[^"\\]|\\[\s\S])*)"/y;
/** What some schemes have instead of parameters. */
const token68 = /[\w\-.~+/]+=*(?=\s*(?:,|$))/y;

/** What stands after the scheme is read up to where it makes no sense any more. */
export function readChallenges(header: string | undefined): readonly Challenge[] {
  const reader = new Reader((header ?? "").slice(0, maxLength));
  const found: Challenge[] = [];
  for (;;) {
    reader.take(blanks);
    const scheme = reader.take(token);
    if (scheme === undefined) return found;
    const parameters = new Map<string, string>();
    found.push({ scheme: scheme.toLowerCase(), parameters });
    if (!readParameters(reader, parameters)) return found;
  }
}

/** @returns whether another challenge may follow */
function readParameters(reader: Reader, parameters: Map<string, string>): boolean {
  for (;;) {
    reader.take(blanks);
    const at = reader.at;
    const name = reader.take(token)?.toLowerCase();
    const value = name === undefined ? undefined : readValue(reader);
    if (name === undefined) return false;
    if (typeof value !== "string") {
      // The scheme of the next challenge, a single token of this one, or nonsense.
      reader.at = at;
      const single = parameters.size === 0 ? reader.take(token68) : undefined;
      return single !== undefined || value === undefined;
    }
    if (!parameters.has(name)) parameters.set(name, value);
  }
}

/** Undefined where there is none, null where there should be one. */
function readValue(reader: Reader): string | undefined | null {
  if (reader.take(equals) === undefined) return undefined;
  const text = reader.take(quoted);
  if (text === undefined) return reader.take(token) ?? null;
  return text.slice(1, -1).replace(/\\([\s\S])/g, "$1");
}

class Reader {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  take(what: RegExp): string | undefined {
    what.lastIndex = this.at;
    const [found] = what.exec(this.#text) ?? [];
    if (found !== undefined) this.at += found.length;
    return found;
  }
}

/** What the challenges for tokens say together. */
export function whatIsSaid(header: string | undefined): Said {
  const told = readChallenges(header).filter(
    ({ scheme }) => scheme === "bearer" || scheme === "dpop",
  );
  const find = (name: string): string | undefined =>
    told.find(({ parameters }) => parameters.has(name))?.parameters.get(name);
  const isError = (error: string): boolean =>
    told.some(({ parameters }) => parameters.get("error") === error);
  const scopes = find("scope");
  return {
    metadata: find("resource_metadata"),
    scopes: scopes === undefined ? undefined : toScopes(scopes),
    lacksScope: isError("insufficient_scope"),
    asksForNonce: isError("use_dpop_nonce"),
  };
}

export function toScopes(text: string): readonly string[] {
  return unite(text.split(" ").filter((scope) => scope !== ""));
}

/** Each once, in the order in which they came. */
export function unite(...scopes: readonly (readonly string[])[]): readonly string[] {
  return [...new Set(scopes.flat())];
}
