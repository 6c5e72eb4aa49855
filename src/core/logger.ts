/** Structured logs: into a logger that the program has already, or as lines of JSON. */
import type { Log } from "./log.ts";

/** What an entry says beside its message; an error is under `err`. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Fields first, then the message: as pino and bunyan have it. `console` does as well. */
export interface Logger {
  debug(fields: LogFields, message: string): void;
  info(fields: LogFields, message: string): void;
  warn(fields: LogFields, message: string): void;
  error(fields: LogFields, message: string): void;
  /** Whether a level is written at all; where this is missing, every one is. */
  isLevelEnabled?(level: string): boolean;
}

/** From most to least. */
const levels = ["debug", "info", "warn", "error"] as const;

export type LoggerLevel = (typeof levels)[number];

export interface JsonLogsOptions {
  /** The least that is written; `silent` writes nothing. @default "warn" */
  readonly level?: LoggerLevel | "silent" | undefined;
  /** Takes whole lines, such as `process.stderr`. @default standard error */
  readonly stream?: { write(line: string): unknown } | undefined;
}

/** Characters of one text at most: what a stranger can have written must not fill the disk. */
const maxText = 8_192;

/** How deep the causes of errors are followed. */
const maxCauses = 5;

/**
 * Writes each entry as one line of JSON: `level`, `time` in ISO 8601, `msg`, and its fields.
 * Control characters and those that turn the direction of writing are escaped, so that nobody
 * who is logged can write lines of their own, or hide some.
 */
export function jsonLogs({ level = "warn", stream }: JsonLogsOptions = {}): Logger {
  const least = level === "silent" ? levels.length : levels.indexOf(level);
  // Standard output may carry the protocol.
  const write =
    stream === undefined ? toStandardError : (line: string) => stream.write(`${line}\n`);
  const at =
    (name: LoggerLevel) =>
    (fields: LogFields, message: string): void => {
      if (levels.indexOf(name) >= least) write(toLine(name, fields, message));
    };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    isLevelEnabled: (name) => levels.indexOf(name as LoggerLevel) >= least,
  };
}

/** What {@link Log} is told, told to a logger. */
export function logTo(logger: Logger): Log {
  return ({ level, message, cause, details }) => {
    const fields = cause === undefined ? { ...details } : { ...details, err: cause };
    tell(logger, level === "warning" ? "warn" : level, message, fields);
  };
}

/** Writes one entry. A logger that fails is no fault of a call's. */
export function tell(logger: Logger, level: LoggerLevel, message: string, fields: LogFields): void {
  try {
    logger[level](fields, message);
  } catch {
    // There is nowhere left to tell of it.
  }
}

function toStandardError(line: string): void {
  // biome-ignore lint/suspicious/noConsole: the one way to standard error on every runtime.
  console.error(line);
}

function toLine(level: LoggerLevel, fields: LogFields, message: string): string {
  const line: Record<string, unknown> = {
    level,
    time: new Date().toISOString(),
    msg: cut(message),
  };
  let isFlat = true;
  for (const [key, value] of Object.entries(fields)) {
    // What an entry is cannot be changed by what it is about.
    if (value === undefined || key === "level" || key === "time" || key === "msg") continue;
    isFlat &&= typeof value !== "object" && typeof value !== "bigint";
    line[key] = typeof value === "string" ? cut(value) : value;
  }
  return escapeAll(isFlat ? JSON.stringify(line) : written(line));
}

/** Slower by far than what is flat, as most entries are. */
function written(line: Readonly<Record<string, unknown>>): string {
  try {
    return JSON.stringify(line, toPlain);
  } catch {
    const entries = Object.entries(line).map(([key, value]) => [key, toWritable(value)] as const);
    return JSON.stringify(Object.fromEntries(entries));
  }
}

/** One part by itself, so that what is no JSON does not take with it what it stands beside. */
function toWritable(value: unknown): unknown {
  try {
    const text: string | undefined = JSON.stringify(value, toPlain);
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return "(no JSON)";
  }
}

function toPlain(_key: string, value: unknown): unknown {
  if (typeof value === "string") return cut(value);
  if (typeof value === "bigint") return String(value);
  return value instanceof Error ? describeError(value, maxCauses) : value;
}

function describeError(error: Error, depth: number): LogFields {
  const { name, message, stack, cause } = error;
  const described = { type: name, message, stack };
  if (cause === undefined) return described;
  if (depth === 0) return { ...described, cause: "and more" };
  // Such as the answer to an HTTP request, which mostly refers to itself.
  const why = cause instanceof Error ? describeError(cause, depth - 1) : toWritable(cause);
  return { ...described, cause: why };
}

function cut(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text;
}

/** Beyond what JSON escapes: delete, C1, line separators, and marks that turn the writing. */
const unsafe = /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function escapeAll(line: string): string {
  return line.replace(unsafe, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
