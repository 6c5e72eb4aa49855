/** Everything that a client can ask for, each time with a tag that its answer must bear alone. */
import { type Client, ClientError } from "anyrev/client";
import { tagKey } from "./fuzzed-answers.ts";

export type Operation = (client: Client, tag: string) => Promise<unknown>;

/** What a call did for nobody is not done twice, so that every answer counts once. */
const meta = (tag: string) => ({ meta: { [tagKey]: tag }, reissue: "never" }) as const;
export const operations: readonly Operation[] = [
  (client, tag) => client.call("say", { a: 1 }, meta(tag)),
  (client, tag) => client.call("echo", {}, meta(tag)),
  (client, tag) => client.call("ask", {}, meta(tag)),
  (client, tag) => client.call("say", {}, { ...meta(tag), onProgress: () => undefined }),
  (client, tag) => client.list("tools", meta(tag)),
  (client, tag) => client.list("resources", meta(tag)),
  (client, tag) => client.list("templates", meta(tag)),
  (client, tag) => client.list("prompts", meta(tag)),
  (client, tag) => client.read("note://1", meta(tag)),
  (client, tag) => client.get("greet", {}, meta(tag)),
  (client, tag) =>
    client.complete({ of: "prompt", target: "greet", argument: "a", value: "" }, meta(tag)),
  (client, tag) => client.ping(meta(tag)),
];

/** With a sum, so that a tag that lost a bit on its way is not taken for another. */
export function toTag(number: number): string {
  return `tag-${number}-${(number * 7_919) % 9_973}-`;
}

function tagsIn(text: string): string[] {
  const found = [...text.matchAll(/tag-(\d+)-\d+-/g)];
  return found.flatMap(([tag, number]) => (tag === toTag(Number(number)) ? [tag] : []));
}

/** How many operations ended with their own answer, and how many with a reason why not. */
export interface Outcomes {
  answered: number;
  failed: number;
}

/** What is wrong with how an operation ended. */
export async function judge(
  operation: Promise<unknown>,
  tag: string,
  outcomes: Outcomes,
): Promise<string | undefined> {
  let said: string;
  try {
    said = JSON.stringify(await operation) ?? "";
    if (tagsIn(said).includes(tag)) outcomes.answered++;
  } catch (cause) {
    if (!(cause instanceof ClientError)) return `${tag} failed with no reason of ours: ${cause}`;
    if (cause.kind === "timeout") return `${tag} was never answered`;
    outcomes.failed++;
    said = cause.message;
  }
  const others = tagsIn(said).filter((each) => each !== tag);
  return others.length === 0 ? undefined : `${tag} was answered with ${others.join()}: ${said}`;
}
