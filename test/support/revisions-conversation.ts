/** The rows of the page on revisions that are about conversations, each found by holding one. */
import { pausedAt } from "./carrying.ts";
import { Conversant, type ConversantOptions, within } from "./conversant.ts";
import { answerAll, createConversing, type Effects, fieldsOf } from "./conversing.ts";
import type { Look } from "./revisions-looks.ts";
import type { Section } from "./revisions-probes.ts";
import { isObject, type Revision } from "./wire.ts";
import type { WireKind } from "./wires.ts";

const no = "–";
const mark = (has: boolean): string => (has ? "yes" : no);

async function converse<T>(
  revision: Revision,
  run: (peer: Conversant, effects: Effects) => Promise<T>,
  options: ConversantOptions = {},
  wire: WireKind = "fetch",
): Promise<T> {
  const { server, effects } = createConversing();
  const all = { answer: answerAll(), ...options };
  await using peer = await Conversant.open(wire, revision, server, all);
  return await run(peer, effects);
}

/** How the question of a call reaches its client. */
const asking =
  (
    method: string,
    params: { readonly [name: string]: unknown },
    options?: ConversantOptions,
  ): Look =>
  ({ revision }) =>
    converse(
      revision,
      async (peer) => {
        const reply = await peer.ask(method, params);
        if ("error" in reply.message) return no;
        if (peer.questions.length > 0) return "a request to the client";
        if (pausedAt(reply) === undefined) throw new Error("nothing was asked");
        const { result } = reply.message;
        const restarts = isObject(result) && result["resultType"] === "input_required";
        return restarts ? "`input_required`" : "arguments of the tool";
      },
      options,
    );

const call = (name: string, options?: ConversantOptions): Look =>
  asking("tools/call", { name }, options);

/** Whether a field of a form says something of its own. */
const saying =
  (field: string, word: string): Look =>
  ({ revision }) =>
    converse(
      revision,
      async (peer) => {
        await peer.call("order");
        const [question] = peer.questions;
        const shown = question && fieldsOf(question)[field];
        return mark(isObject(shown) && word in shown);
      },
      { answer: () => ({ action: "decline" }) },
    );

const settingLevel: Look = ({ revision }) =>
  converse(revision, async (peer) => {
    const set = await peer.askRaw("logging/setLevel", { level: "debug" });
    const bySession = "result" in set.message;
    await peer.call("log", {}, { "io.modelcontextprotocol/logLevel": "error" });
    const count = peer.told("notifications/message").length;
    if (count !== (bySession ? 3 : 1)) throw new Error(`${count} entries were logged`);
    return bySession ? "`logging/setLevel`" : "`_meta` of each request";
  });

const loggingWithoutSession: Look = ({ revision }) =>
  converse(
    revision,
    async (peer) => {
      const { message } = await peer.askRaw("server/discover", {});
      const isAnnounced = JSON.stringify(message).includes('"logging"');
      await peer.call("log", {}, { "io.modelcontextprotocol/logLevel": "debug" });
      const isTold = peer.told("notifications/message").length > 0;
      if (isTold !== isAnnounced) throw new Error("what is announced is not what is told");
      return mark(isTold);
    },
    { endpoint: { sessions: false } },
  );

const progressMessage: Look = ({ revision }) =>
  converse(revision, async (peer) => {
    await peer.call("progress", {}, { progressToken: 1 });
    const [report] = peer.told("notifications/progress");
    return mark(isObject(report) && "message" in report);
  });

const hearing: Look = ({ revision }) =>
  converse(revision, async (peer) => {
    const notifications = { resourceSubscriptions: ["note://1"] };
    const { reply } = peer.startRaw("subscriptions/listen", { notifications });
    const refused = reply.then(({ message }) => "error" in message);
    const told = peer.until(() => peer.heard.length > 0, "it is acknowledged").then(() => false);
    const subscribes = await Promise.race([refused, told]);
    if (subscribes) {
      await peer.ask("resources/subscribe", { uri: "note://1" });
      await peer.listen();
    }
    await peer.call("touch");
    const updated = "notifications/resources/updated";
    await peer.until(() => peer.told(updated).length > 0, "the change is told");
    return subscribes ? "`resources/subscribe` and GET" : "`subscriptions/listen`";
  });

const eventIds: Look = ({ revision }) =>
  converse(revision, async (peer) => {
    await peer.call("progress", {}, { progressToken: 1 });
    return mark(peer.wire.events.some(({ id }) => id !== undefined));
  });

const reconnecting: Look = async ({ revision }) => {
  const wires: readonly WireKind[] = ["stdio", "memory", "sse"];
  const found = wires
    .filter((wire) => wire !== "sse" || revision !== "2026-07-28")
    .map((wire) =>
      converse(
        revision,
        async (peer) => {
          await peer.call("progress", {}, { progressToken: 1 });
          return peer.wire.events.some(({ id }) => id !== undefined);
        },
        {},
        wire,
      ),
    );
  return mark((await Promise.all(found)).some((resumes) => resumes));
};

const primed: Look = ({ revision }) =>
  converse(revision, async (peer) => {
    await peer.call("progress", {}, { progressToken: 1 });
    return mark(peer.wire.events[0]?.data === "");
  });

const letsGo: Look = ({ revision }) =>
  converse(revision, async (peer, effects) => {
    const { sending, reply } = peer.start("tools/call", { name: "detach" });
    const isLetGo = sending.over.then(() => peer.wire.events.length > 0);
    setTimeout(effects.proceed, 50);
    if (!(await within(isLetGo, "the connection ends"))) return no;
    await peer.listen({ "last-event-id": peer.wire.events.find(({ id }) => id)?.id ?? "" });
    await within(reply, "it is answered");
    return "yes";
  });

const oldTransport: Look = async ({ revision }) => {
  if (revision !== "2026-07-28") {
    return converse(
      revision,
      async (peer) => mark((await peer.call("roots")) !== undefined),
      {},
      "sse",
    );
  }
  const { message } = await converse(revision, (peer) => peer.ask("server/discover"), {}, "sse");
  const { error } = message;
  if (!isObject(error) || error["code"] !== -32022) throw new Error("is not refused as said");
  return no;
};

const stateless: ConversantOptions = { endpoint: { sessions: false } };
const unreachable = "The `default` is taken; without one the call is refused.";

export const conversation: Section = {
  title: "How it converses",
  rows: [
    {
      subject: "`ex.ask` with a form, in a tool that declares `asks`",
      look: call("ask"),
      otherwise: "",
    },
    {
      subject: "`ex.ask` with a form, in any other tool",
      look: call("ask_or_fail"),
      otherwise: unreachable,
    },
    {
      subject: "`ex.ask` with a form, in a prompt",
      look: asking("prompts/get", { name: "asking" }),
      otherwise: unreachable,
    },
    {
      subject: "`ex.ask` with a form, in a resource",
      look: asking("resources/read", { uri: "asking://1" }),
      otherwise: unreachable,
    },
    {
      subject: "Lists to choose from, in a form",
      look: saying("toppings", "items"),
      otherwise: "A text, which names the choices and is split at its commas.",
    },
    {
      subject: "Defaults in a form, of anything but yes or no",
      look: saying("count", "default"),
      otherwise: "Left out; the field starts empty.",
    },
    { subject: "`ex.ask` with a `url`", look: call("url"), otherwise: "The call is refused." },
    { subject: "`ex.sample`", look: call("sample"), otherwise: "" },
    { subject: "`ex.roots`", look: call("roots"), otherwise: "" },
    {
      subject: "`ex.ask` with a form, without sessions",
      look: call("ask", stateless),
      otherwise: `What a client can be asked, only a session remembers. ${unreachable}`,
    },
    {
      subject: "`ex.sample` and `ex.roots`, without sessions",
      look: call("sample", stateless),
      otherwise: `What a client can be asked, only a session remembers. ${unreachable}`,
    },
    {
      subject: "`message` of progress",
      look: progressMessage,
      otherwise: "Left out; the numbers remain.",
    },
    { subject: "The level of log entries is set by", look: settingLevel, otherwise: "" },
    {
      subject: "Log entries, without sessions",
      look: loggingWithoutSession,
      otherwise: "Not announced; `logging/setLevel` is refused like any unknown method.",
    },
    { subject: "Changes are heard by", look: hearing, otherwise: "" },
    {
      subject: "A stream that was lost is resumed after its last event",
      look: eventIds,
      otherwise: "Events have no ids; what is told after the loss is lost.",
    },
    {
      subject: "A lost connection of stdio, of HTTP+SSE or in memory is resumed",
      look: reconnecting,
      otherwise: "The connection is the session: whoever connects again begins anew.",
    },
    {
      subject: "A stream says at once how it is resumed",
      look: primed,
      otherwise: "The first event with something to say has the first id.",
    },
    {
      subject: "`ex.detach` lets go of the connection",
      look: letsGo,
      otherwise: "It does nothing: the client could not come back.",
    },
    {
      subject: "HTTP+SSE, where it is switched on",
      look: oldTransport,
      otherwise: "Refused with -32022, which names the revisions served there.",
    },
  ],
};
