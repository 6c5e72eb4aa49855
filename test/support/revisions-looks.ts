/** What a caller of one revision finds when it looks at a server that declares everything. */
import { createServer } from "anyrev";
import { headersFor, request } from "./messages.ts";
import { type Line, openLine, Peer } from "./peer.ts";
import { meta } from "./showcase.ts";
import { isObject, type JsonObject, type Revision } from "./wire.ts";

export interface Probe {
  readonly revision: Revision;
  readonly peer: Peer;
  readonly line: Line;
}

/** What a probe finds, as a cell of a table. */
export type Look = (probe: Probe) => Promise<string>;

const yes = "yes";
const no = "–";
const mark = (has: boolean): string => (has ? yes : no);

const entry =
  (method: string, member: string, name: string) =>
  async ({ peer }: Probe) => {
    const list = (await peer.result(method))[member];
    const found = Array.isArray(list)
      ? list.filter(isObject).find((each) => each["name"] === name)
      : undefined;
    if (found === undefined) throw new Error(`${method} does not list ${name}`);
    return found;
  };

const listings = [
  entry("tools/list", "tools", "everything"),
  entry("resources/list", "resources", "one"),
  entry("resources/templates/list", "resourceTemplates", "by name"),
  entry("prompts/list", "prompts", "greet"),
] as const;
const [tool, resource] = listings;

/** Whether all four kinds of declarations have the field; a page that said "some" would be wrong. */
export const everywhere =
  (field: string): Look =>
  async (probe) => {
    const found = await Promise.all(listings.map((read) => read(probe)));
    const count = found.filter((each) => field in each).length;
    if (count !== 0 && count !== found.length) throw new Error(`${field} is in ${count} listings`);
    return mark(count > 0);
  };

export const inTool =
  (field: string, name = "everything"): Look =>
  async (probe) =>
    mark(field in (await entry("tools/list", "tools", name)(probe)));

export const annotated =
  (field: string): Look =>
  async (probe) => {
    const { annotations } = await resource(probe);
    return mark(isObject(annotations) && field in annotations);
  };

export const property =
  (name: string, has: (schema: unknown) => boolean): Look =>
  async (probe) => {
    const { inputSchema } = await tool(probe);
    const properties = isObject(inputSchema) ? inputSchema["properties"] : undefined;
    return mark(isObject(properties) && has(properties[name]));
  };

export const structured =
  (...names: readonly string[]): Look =>
  async ({ peer }) => {
    const results = await Promise.all(names.map((name) => peer.result("tools/call", { name })));
    const count = results.filter((result) => "structuredContent" in result).length;
    if (count !== 0 && count !== names.length) throw new Error(`some of ${names} are structured`);
    return mark(count > 0);
  };

export const resultMeta: Look = async ({ peer }) => {
  const { _meta: found } = await peer.result("tools/call", { name: "with_meta" });
  return mark(isObject(found) && Object.keys(meta).every((key) => key in found));
};

export const hasResultType: Look = async ({ peer }) =>
  mark("resultType" in (await peer.result("tools/call", { name: "text" })));

export const identifiedBy: Look = async (probe) => (await identity(probe))[0];

export const identified =
  (field: string): Look =>
  async (probe) =>
    mark(field in (await identity(probe))[1]);

export const block =
  (name: string, type: string): Look =>
  async ({ peer }) => {
    const { content } = await peer.result("tools/call", { name });
    const first: unknown = Array.isArray(content) ? content[0] : undefined;
    return mark(isObject(first) && first["type"] === type);
  };

const identity = async ({ peer }: Probe): Promise<readonly [where: string, who: JsonObject]> => {
  const opened = peer.opened?.["serverInfo"];
  if (isObject(opened)) return ["the handshake", opened];
  const { _meta: meta } = await peer.result("tools/list");
  const stated = isObject(meta) ? meta["io.modelcontextprotocol/serverInfo"] : undefined;
  if (!isObject(stated)) throw new Error("the server does not say who it is");
  return ["every result", stated];
};

export const answers =
  (method: string, params?: JsonObject): Look =>
  async ({ peer }) =>
    mark("result" in (await peer.ask(method, params)).message);

export const refusal =
  (method: string, params?: JsonObject): Look =>
  async ({ peer }) => {
    const { code, status } = await peer.error(method, params);
    return `${code} (HTTP ${status})`;
  };

/** Sends `body` as it stands, with the headers of the revision, to a URL that pins it. */
async function raw(
  { line, revision }: Probe,
  body: string,
  headers = {},
): Promise<{ status: number; value: unknown }> {
  const { status, text } = await line.send({
    query: `?mcp=${revision}`,
    headers: { ...headersFor(revision, undefined), ...headers },
    body,
  });
  return { status, value: text === "" ? undefined : JSON.parse(text) };
}

const list = (revision: Revision) => request(revision, 1, "tools/list");

export const batch: Look = async (probe) => {
  const { value } = await raw(probe, JSON.stringify([list(probe.revision)]));
  return mark(Array.isArray(value));
};

export const unreadableId: Look = async (probe) => {
  const { value } = await raw(probe, '{"jsonrpc":"2.0","id":{},"method":"x"}');
  return isObject(value) && "id" in value ? String(value["id"]) : "left out";
};

export const opening: Look = async ({ peer }) =>
  peer.opened === undefined ? "every request" : "`initialize`";

export const session: Look = async ({ line, revision }) => {
  const params = {
    protocolVersion: revision,
    capabilities: {},
    clientInfo: { name: "a", version: "1" },
  };
  const hello = request(revision, 1, "initialize", params);
  const sent = await line.send({
    headers: headersFor(revision, hello),
    body: JSON.stringify(hello),
  });
  return mark("mcp-session-id" in sent.headers);
};

export const needsVersionHeader: Look = async ({ line, revision }) => {
  const message = list(revision);
  const { "mcp-protocol-version": _, ...headers } = headersFor(revision, message);
  const { status } = await line.send({ headers, body: JSON.stringify(message) });
  return mark(status !== 200);
};

export const comparesMirrors: Look = async ({ peer }) => {
  const { message } = await peer.ask("tools/call", { name: "text" }, { "mcp-name": "image" });
  return mark("error" in message);
};

export const cacheHints: Look = async ({ peer }) =>
  mark("ttlMs" in (await peer.result("resources/read", { uri: "note://1" })));

export const capability: Look = async ({ peer }) => {
  const { capabilities } = peer.opened ?? (await peer.result("server/discover"));
  return mark(isObject(capabilities) && "completions" in capabilities);
};

/** Which event reaches the signal of a handler that is running. */
async function isCancelledBy(revision: Revision, event: "notice" | "disconnect"): Promise<boolean> {
  const server = createServer({ name: "waiting", version: "1" });
  let started = (_: AbortSignal) => {};
  const running = new Promise<AbortSignal>((resolve) => {
    started = resolve;
  });
  let finish = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  server.tool("wait", {}, async (_, ex) => {
    started(ex.signal);
    await finished;
    return "done";
  });
  const line = await openLine("fetch", server);
  const gone = new AbortController();
  const peer = await Peer.open(
    { ...line, send: (what) => line.send({ ...what, signal: gone.signal }) },
    revision,
  );
  const asked = peer.ask("tools/call", { name: "wait" });
  const signal = await running;
  if (event === "disconnect") gone.abort();
  else await peer.notify("notifications/cancelled", { requestId: peer.lastId });
  const { aborted } = signal;
  finish();
  await asked;
  await line.close();
  return aborted;
}

export const cancelling: Look = async ({ revision }) => {
  const byNotice = await isCancelledBy(revision, "notice");
  const byDisconnect = await isCancelledBy(revision, "disconnect");
  if (byNotice === byDisconnect) throw new Error(`${revision} has no one way to cancel`);
  return byNotice ? "`notifications/cancelled`" : "closing the connection";
};
