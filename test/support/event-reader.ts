/** Server-sent events out of a response, by the grammar of the HTML standard. */

export interface ReadEvent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
  readonly retry: string | undefined;
}

/** Every block of the stream that is not a comment alone; one without data has none. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ReadEvent> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of body) {
    rest += decoder.decode(chunk, { stream: true });
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = readBlock(block);
      if (event !== undefined) yield event;
    }
  }
  if (rest !== "") throw new Error(`the stream ended within an event: ${rest}`);
}

function readBlock(block: string): ReadEvent | undefined {
  const fields = new Map<string, string[]>();
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    fields.set(name, [...(fields.get(name) ?? []), value]);
  }
  for (const name of fields.keys()) {
    if (!["id", "event", "data", "retry"].includes(name)) throw new Error(`${name} is no field`);
  }
  if (fields.size === 0) return undefined;
  return {
    id: fields.get("id")?.at(-1),
    event: fields.get("event")?.at(-1),
    data: (fields.get("data") ?? []).join("\n"),
    retry: fields.get("retry")?.at(-1),
  };
}
