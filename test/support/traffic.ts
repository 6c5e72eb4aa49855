/** All that crossed between a client and a server, judged by the schemas of what they agreed on. */
import type { Duplex, DuplexReader } from "../../src/client/duplex.ts";
import {
  checkClientMessage,
  checkReply,
  checkServerMessage,
  isObject,
  type JsonObject,
  type RequestOutline,
  type Revision,
  revisions,
} from "./wire.ts";

export interface Crossed {
  readonly from: "client" | "server";
  readonly message: JsonObject;
}

export class Traffic {
  readonly crossed: Crossed[] = [];

  note(from: Crossed["from"], message: unknown): void {
    for (const each of Array.isArray(message) ? message : [message]) {
      if (isObject(each)) this.crossed.push({ from, message: each });
    }
  }

  /** The methods of what one side sent, in order. */
  methods(from: Crossed["from"]): string[] {
    return this.crossed.flatMap(({ from: sender, message }) =>
      sender === from && typeof message["method"] === "string" ? [message["method"]] : [],
    );
  }

  forget(): void {
    this.crossed.length = 0;
  }

  /** What is wrong, in `revision`, with what either side sent. */
  problems(revision: Revision): { readonly client: string[]; readonly server: string[] } {
    const found = { client: [] as string[], server: [] as string[] };
    const asked = {
      client: new Map<unknown, JsonObject>(),
      server: new Map<unknown, JsonObject>(),
    };
    for (const { from, message } of this.crossed) {
      const other = from === "client" ? "server" : "client";
      if ("method" in message) {
        asked[from].set(message["id"], message);
        found[from].push(...judgeOwn(revision, from, message));
      } else {
        found[from].push(...judgeReply(revision, asked[other].get(message["id"]), message));
      }
    }
    return { client: [...new Set(found.client)], server: [...new Set(found.server)] };
  }
}

/** The first request is of a revision that a server of an older one does not know. */
function isProbe(revision: Revision, message: JsonObject | undefined): boolean {
  return revision !== "2026-07-28" && message?.["method"] === "server/discover";
}

/** A handshake is opened in the revision that it asks for, whatever comes of it. */
function offered({ method, params }: JsonObject): Revision | undefined {
  const version = isObject(params) ? params["protocolVersion"] : undefined;
  return method === "initialize" ? revisions.find((each) => each === version) : undefined;
}

function judgeOwn(revision: Revision, from: Crossed["from"], message: JsonObject): string[] {
  const spoken = isProbe(revision, message) ? "2026-07-28" : (offered(message) ?? revision);
  const problems =
    from === "client" ? checkClientMessage(spoken, message) : checkServerMessage(spoken, message);
  return problems.map((problem) => `${String(message["method"])}: ${problem}`);
}

function judgeReply(
  revision: Revision,
  request: JsonObject | undefined,
  message: JsonObject,
): string[] {
  // Whoever refuses an HTTP request that holds no message, or an unknown one, has no id to tell.
  if (request === undefined && "error" in message && (message["id"] ?? null) === null) return [];
  if (request === undefined) return [`a reply to nothing: ${JSON.stringify(message)}`];
  if (isProbe(revision, request)) return [];
  const problems = checkReply(revision, request as unknown as RequestOutline, message);
  return problems.map((problem) => `reply to ${String(request["method"])}: ${problem}`);
}

/** A duplex that notes what crosses it. */
export function tapped(duplex: Duplex, traffic: Traffic): Duplex {
  let rest = "";
  const decoder = new TextDecoder();
  const noteText = (text: string): void => {
    try {
      traffic.note("server", JSON.parse(text));
    } catch {
      // Not JSON: what the client makes of it is seen by its warnings.
    }
  };
  return {
    open: (reader: DuplexReader) =>
      duplex.open({
        bytes: (chunk) => {
          const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) noteText(line);
          reader.bytes(chunk);
        },
        text: (text) => {
          noteText(text);
          reader.text(text);
        },
        message: (message) => {
          traffic.note("server", message);
          reader.message(message);
        },
        closed: (cause) => reader.closed(cause),
      }),
    send: (message) => {
      traffic.note("client", message);
      duplex.send(message);
    },
    close: () => duplex.close(),
  };
}
