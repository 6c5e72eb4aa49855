/** The notebook example behind a socket, and what its tools say. */
import { serve } from "anyrev/node";
import { expect } from "vitest";
import { createNotebook } from "../../examples/notebook/server.ts";
import { answering, converse, type Reaction } from "./answering.ts";
import { type Answer, Client, type Open, openSocket } from "./client.ts";
import type { JsonObject, Revision } from "./wire.ts";

export interface BookOptions {
  /** @default ":memory:" */
  readonly path?: string;
  /** What the client declares that it can do. @default nothing */
  readonly capabilities?: JsonObject;
  /** What its user and its model answer. @default nothing: being asked is a failure */
  readonly react?: Reaction;
}

export interface Book extends AsyncDisposable {
  readonly client: Client;
  readonly open: Open;
  connect(revision: Revision): Promise<Client>;
}

/** A notebook that is served until the end of the block. */
export async function openBook(revision: Revision, options: BookOptions = {}): Promise<Book> {
  const { path = ":memory:", capabilities = {}, react = unasked } = options;
  const notebook = createNotebook({ path });
  const serving = await serve(notebook.server, { port: 0, drainMs: 100 });
  const open = openSocket(serving.port);
  const connect = (other: Revision): Promise<Client> =>
    Client.open(answering(open, other, react), other, { capabilities });
  return {
    client: await connect(revision),
    open,
    connect,
    [Symbol.asyncDispose]: async () => {
      await serving.close();
      notebook.close();
    },
  };
}

function unasked(): never {
  throw new Error("nobody should have been asked");
}

/** The result, as the schemas have just checked it. */
export function resultOf<T>({ result, error }: Answer): T {
  if (result === undefined) throw new Error(`refused: ${error?.message}`);
  return result as T;
}

export function textOf(answer: Answer): string {
  return resultOf<{ content: { text: string }[] }>(answer).content[0]?.text ?? "";
}

/** The data of a tool's answer, which every revision has as text and most beside it. */
export function data(answer: Answer): Record<string, unknown> {
  const { isError, structuredContent } = resultOf<Record<string, unknown>>(answer);
  expect(isError, textOf(answer)).toBeUndefined();
  const text = JSON.parse(textOf(answer));
  if (structuredContent !== undefined) expect(text).toEqual(structuredContent);
  return text;
}

/** What a tool said is wrong; fails when it said that all is well. */
export function complaint(answer: Answer): string {
  expect(resultOf<Record<string, unknown>>(answer)["isError"]).toBe(true);
  return textOf(answer);
}

/** Deletes as every client can, whether it asks its user itself or is asked to. */
export function deleteNote(client: Client, id: number): Promise<Answer> {
  return converse(client, "delete_note", { id, confirm: true }, () => ({ action: "accept" }));
}

/** Three notes on two topics. */
export async function fill(client: Client): Promise<void> {
  await client.call("add_note", {
    title: "Tomatoes",
    body: "Sow them indoors in March, plant out after the frost.",
    topics: ["Garden", "food"],
  });
  await client.call("add_note", {
    title: "Frost",
    body: "Cover the beds when the night falls below zero.",
    topics: ["garden"],
  });
  await client.call("add_note", { title: "Bread", body: "Flour, water, salt.", topics: ["food"] });
}
