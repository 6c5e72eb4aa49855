/** Where causes go that no caller may see. */

export interface LogEntry {
  readonly level: "info" | "warning" | "error";
  readonly message: string;
  /** The error behind it, stack and all: for operators only. */
  readonly cause?: unknown;
  /** What the entry is about: a tool's name, a revision, a reason. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export type Log = (entry: LogEntry) => void;

/** To standard error, because standard output may carry the protocol. */
export const logToConsole: Log = (entry) => {
  const parts: unknown[] = [`anyrev ${entry.level}: ${entry.message}`];
  if (entry.details !== undefined) parts.push(entry.details);
  if (entry.cause !== undefined) parts.push(entry.cause);
  // biome-ignore lint/suspicious/noConsole: the one place that writes where an operator looks by default.
  console.error(...parts);
};
