/** The rows of the page on revisions: what is looked at, and what becomes of it elsewhere. */
import {
  annotated,
  answers,
  batch,
  block,
  cacheHints,
  cancelling,
  capability,
  comparesMirrors,
  everywhere,
  hasResultType,
  identified,
  identifiedBy,
  inTool,
  type Look,
  needsVersionHeader,
  opening,
  property,
  refusal,
  resultMeta,
  session,
  structured,
  unreadableId,
} from "./revisions-looks.ts";
import { isObject } from "./wire.ts";

export interface Row {
  readonly subject: string;
  readonly look: Look;
  /** What becomes of it in the revisions that lack it. */
  readonly otherwise: string;
}

export interface Section {
  readonly title: string;
  readonly rows: readonly Row[];
}

export const sections: readonly Section[] = [
  {
    title: "Connecting",
    rows: [
      {
        subject: "The revision is settled by",
        look: opening,
        otherwise: "`initialize` is answered with 404 and names `server/discover`.",
      },
      {
        subject: "Sessions (`Mcp-Session-Id`)",
        look: session,
        otherwise: "An id that arrives is ignored.",
      },
      {
        subject: "`server/discover`",
        look: answers("server/discover"),
        otherwise:
          "Answered in older revisions too, in their own shape, on an endpoint that also serves 2026-07-28.",
      },
      { subject: "Arrays of messages", look: batch, otherwise: "Refused with -32600 (HTTP 400)." },
      {
        subject: "`MCP-Protocol-Version` is required",
        look: needsVersionHeader,
        otherwise: "The session tells, else 2025-03-26 is assumed.",
      },
      {
        subject: "`Mcp-Method`, `Mcp-Name`, `Mcp-Param-*` are compared",
        look: comparesMirrors,
        otherwise: "Such headers mean nothing and are not looked at.",
      },
      {
        subject: "A call is cancelled by",
        look: cancelling,
        otherwise: "`ex.signal` aborts either way; the other event is ignored.",
      },
    ],
  },
  {
    title: "Who the server is",
    rows: [
      {
        subject: "Name and version are in",
        look: identifiedBy,
        otherwise: "",
      },
      {
        subject: "Server `title`",
        look: identified("title"),
        otherwise: "Left out.",
      },
      {
        subject: "Server `icons`, `description`, `websiteUrl`",
        look: identified("icons"),
        otherwise: "Left out.",
      },
      {
        subject: "Completion is answered",
        look: answers("completion/complete", {
          ref: { type: "ref/prompt", name: "greet" },
          argument: { name: "name", value: "" },
        }),
        otherwise: "",
      },
      {
        subject: "Completion is announced",
        look: capability,
        otherwise: "There is no capability for it; the method works all the same.",
      },
      { subject: "`ping`", look: answers("ping"), otherwise: "Refused like any unknown method." },
      {
        subject: "`logging/setLevel`",
        look: answers("logging/setLevel", { level: "info" }),
        otherwise: "Refused like any unknown method.",
      },
    ],
  },
  {
    title: "What listings show",
    rows: [
      { subject: "`title`", look: everywhere("title"), otherwise: "Left out; `name` remains." },
      { subject: "`description`", look: everywhere("description"), otherwise: "" },
      { subject: "`icons`", look: everywhere("icons"), otherwise: "Left out." },
      { subject: "`_meta` of declarations", look: everywhere("_meta"), otherwise: "Left out." },
      { subject: "Tool annotations", look: inTool("annotations"), otherwise: "Left out." },
      {
        subject: "Resource annotations (`audience`, `priority`)",
        look: annotated("priority"),
        otherwise: "",
      },
      {
        subject: "`lastModified` in annotations",
        look: annotated("lastModified"),
        otherwise: "Left out; the other annotations remain.",
      },
      {
        subject: "Output schema of an object",
        look: inTool("outputSchema"),
        otherwise: "Left out; results are checked all the same.",
      },
      {
        subject: "Output schema of anything else",
        look: inTool("outputSchema", "list"),
        otherwise: "Left out; results are checked all the same.",
      },
      {
        subject: "`x-mcp-header` in input schemas",
        look: property("region", (schema) => isObject(schema) && "x-mcp-header" in schema),
        otherwise: "Stripped from the schema, at every depth.",
      },
      {
        subject: "`true` and `false` as the schema of a property",
        look: property("anything", (schema) => schema === true),
        otherwise: 'Written as `{}` and `{"not":{}}`.',
      },
      {
        subject: "Cache hints (`ttlMs`, `cacheScope`)",
        look: cacheHints,
        otherwise: "Left out of listings and readings.",
      },
    ],
  },
  {
    title: "What results carry",
    rows: [
      {
        subject: "Structured object",
        look: structured("value_object"),
        otherwise: "Written as JSON in a text block.",
      },
      {
        subject: "Structured array, scalar or `null`",
        look: structured("value_array", "value_zero", "value_false", "value_null"),
        otherwise: "Written as JSON in a text block.",
      },
      { subject: "Text", look: block("text", "text"), otherwise: "" },
      { subject: "Images", look: block("image", "image"), otherwise: "" },
      { subject: "Embedded resources", look: block("embedded_text", "resource"), otherwise: "" },
      {
        subject: "Audio",
        look: block("audio", "audio"),
        otherwise: "A text block names its type and size.",
      },
      {
        subject: "Resource links",
        look: block("link", "resource_link"),
        otherwise: "A text block holds the title, the URI and the description.",
      },
      {
        subject: "`_meta` of a result",
        look: resultMeta,
        otherwise: "",
      },
      {
        subject: "`resultType`",
        look: hasResultType,
        otherwise: "Left out.",
      },
    ],
  },
  {
    title: "How it refuses",
    rows: [
      { subject: "Unknown method", look: refusal("no/such"), otherwise: "" },
      { subject: "Unknown tool", look: refusal("tools/call", { name: "no such" }), otherwise: "" },
      {
        subject: "Unknown prompt",
        look: refusal("prompts/get", { name: "no such" }),
        otherwise: "",
      },
      {
        subject: "Resource not found",
        look: refusal("resources/read", { uri: "no://such" }),
        otherwise: "",
      },
      {
        subject: "Cursor that was not given out",
        look: refusal("tools/list", { cursor: "no such" }),
        otherwise: "",
      },
      { subject: "The id of an error when none could be read", look: unreadableId, otherwise: "" },
    ],
  },
];
