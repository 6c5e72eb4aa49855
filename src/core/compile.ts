/** From what an author wrote to what is served: done once, so that no request pays for it. */
import { toAsciiUri } from "../util/uri.ts";
import { isScope, type Restriction } from "./access.ts";
import type {
  PromptArguments,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  TemplateHandler,
  TemplateOptions,
  ToolHandler,
  ToolOptions,
} from "./declaration.ts";
import type { PromptEntry, ResourceEntry, TemplateEntry, ToolEntry } from "./entries.ts";
import { DeclarationError } from "./errors.ts";
import { readParamHeaders } from "./param-header.ts";
import { compileSchema, type JsonSchema, type Schema, type SchemaCompiler } from "./schema.ts";
import { parseUriTemplate } from "./uri-template.ts";

const anyObject: JsonSchema = Object.freeze({ type: "object" });

export function compileTool<In extends Schema | undefined, Out extends Schema | undefined>(
  name: string,
  options: ToolOptions<In, Out>,
  handler: ToolHandler<In, Out>,
  compile: SchemaCompiler,
): ToolEntry {
  assertName("tool", name);
  const where = `the input schema of tool ${JSON.stringify(name)}`;
  const input =
    options.input === undefined ? undefined : compileSchema(options.input, "input", where, compile);
  const inputSchema = input?.json ?? anyObject;
  if (inputSchema["type"] !== "object") {
    throw new DeclarationError(
      `${where} must have type "object" at its root, not ${JSON.stringify(inputSchema["type"])}: arguments are named`,
    );
  }
  const paramHeaders = readParamHeaders(inputSchema);
  if ("message" in paramHeaders) throw new DeclarationError(`${where}: ${paramHeaders.message}`);
  const output =
    options.output === undefined
      ? undefined
      : compileSchema(
          options.output,
          "output",
          `the output schema of tool ${JSON.stringify(name)}`,
          compile,
        );
  return {
    list: "tools",
    ...common(name, name, options),
    inputSchema,
    outputSchema: output?.json,
    annotations: options.annotations,
    input,
    output,
    paramHeaders,
    asks: options.asks ?? false,
    run: handler,
  };
}

export function compileResource(
  uri: string,
  options: ResourceOptions,
  handler: ResourceHandler,
): ResourceEntry {
  // Strict callers refuse a whole listing over one URI that is none.
  if (!URL.canParse(uri)) {
    throw new DeclarationError(
      `${JSON.stringify(uri)} is no absolute URI; write something like "note://1"`,
    );
  }
  return {
    list: "resources",
    ...common(toAsciiUri(uri), options.name ?? uri, options),
    mimeType: options.mimeType,
    annotations: options.annotations,
    cache: options.cache,
    uri: toAsciiUri(uri),
    size: options.size,
    read: handler,
  };
}

export function compileTemplate<Uri extends string>(
  uriTemplate: Uri,
  options: TemplateOptions<Uri>,
  handler: TemplateHandler<Uri>,
): TemplateEntry {
  const template = parseUriTemplate(uriTemplate);
  const completers = new Map(Object.entries(options.complete ?? {}));
  for (const name of completers.keys()) {
    if (!template.variables.includes(name)) {
      throw new DeclarationError(
        `the template ${uriTemplate} has no variable ${JSON.stringify(name)} to complete`,
      );
    }
  }
  return {
    list: "templates",
    ...common(uriTemplate, options.name ?? uriTemplate, options),
    mimeType: options.mimeType,
    annotations: options.annotations,
    cache: options.cache,
    uriTemplate,
    template,
    completers: completers as TemplateEntry["completers"],
    // The variables that a match gives are those the type was read from.
    read: handler as TemplateEntry["read"],
  };
}

export function compilePrompt<Args extends PromptArguments>(
  name: string,
  options: PromptOptions<Args>,
  handler: PromptHandler<Args>,
): PromptEntry {
  assertName("prompt", name);
  const declared = Object.entries(options.arguments ?? {});
  return {
    list: "prompts",
    ...common(name, name, options),
    arguments: declared.map(([argument, { title, description, required }]) => ({
      name: argument,
      title,
      description,
      required,
    })),
    completers: new Map(
      declared.flatMap(([argument, { complete }]) =>
        complete === undefined ? [] : [[argument, complete] as const],
      ),
    ),
    get: handler,
  };
}

function common(
  key: string,
  name: string,
  options: Pick<
    ToolOptions<undefined, undefined>,
    "title" | "description" | "icons" | "meta" | "since" | "scopes" | "visibleTo"
  >,
) {
  const { title, description, icons, meta, since } = options;
  const restriction = readRestriction(name, options);
  return { key, name, title, description, icons, _meta: meta, since, restriction };
}

function readRestriction(
  name: string,
  { scopes = [], visibleTo }: Pick<ToolOptions<undefined, undefined>, "scopes" | "visibleTo">,
): Restriction | undefined {
  const bad = scopes.find((scope) => !isScope(scope));
  if (bad !== undefined) {
    throw new DeclarationError(
      `${JSON.stringify(bad)} is no scope for ${JSON.stringify(name)}: one is printable ASCII without blanks, quotes and backslashes`,
    );
  }
  if (scopes.length === 0 && visibleTo === undefined) return undefined;
  return Object.freeze({ scopes: Object.freeze([...scopes]), visibleTo });
}

function assertName(what: string, name: string): void {
  if (name === "") throw new DeclarationError(`a ${what} needs a name`);
}
