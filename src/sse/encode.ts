/** Server-sent events as text (HTML standard, section 9.2). */

export interface ServerEvent {
  /** Where a reader that lost the stream goes on from. */
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
  /** How long a reader waits before it reconnects, in milliseconds. */
  readonly retryMs?: number | undefined;
}

/** A line that readers ignore and that keeps the connection from being taken for dead. */
export const keepAlive = ":\n\n";

/**
 * One event. A line break in the data starts another data line; one in an id or an event
 * name would start a field of its own, which is how events are forged.
 */
export function encodeEvent({ id, event, data, retryMs }: ServerEvent): string {
  const lines: string[] = [];
  if (event !== undefined) lines.push(`event: ${assertOneLine(event)}`);
  if (id !== undefined) lines.push(`id: ${assertOneLine(id)}`);
  if (retryMs !== undefined) lines.push(`retry: ${retryMs}`);
  // JSON has no line breaks, and looking for one is many times quicker than splitting.
  if (!data.includes("\n") && !data.includes("\r")) lines.push(`data: ${data}`);
  else for (const line of data.split(/\r\n|\r|\n/)) lines.push(`data: ${line}`);
  return `${lines.join("\n")}\n\n`;
}

function assertOneLine(value: string): string {
  if (/[\r\n\0]/.test(value)) throw new TypeError("an event's id and name have no line breaks");
  return value;
}
