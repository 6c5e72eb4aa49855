/** What a client knows of a server's tools: which arguments are mirrored, what results must be. */

import { DeclarationError } from "../core/errors.ts";
import { type ParamHeader, readParamHeaders } from "../core/param-header.ts";
import { compileSchema, type Issue, listIssues, type Validate } from "../core/schema.ts";
import { dialectOf } from "../core/schema-nodes.ts";
import { describe } from "../jsonrpc/message.ts";
import { isObject } from "../util/json.ts";
import { ClientError } from "./errors.ts";
import type { Tool } from "./model.ts";

interface Known {
  readonly paramHeaders: readonly ParamHeader[];
  /** As the server lists it: whether it is a schema at all shows when it is compiled. */
  readonly outputSchema: unknown;
  /** The schema as JSON: what is listed again unchanged is not compiled again. */
  readonly schemaText: string | undefined;
  check: Validate | Unusable | undefined;
}

/** Why results cannot be checked. */
interface Unusable {
  readonly message: string;
}

export class ToolBook {
  #known: Map<string, Known> = new Map();
  #isOutdated = false;
  readonly #warn: (message: string) => void;

  constructor(warn: (message: string) => void) {
    this.#warn = warn;
  }

  /**
   * Takes a whole listing in.
   *
   * @param mirrors - whether arguments are mirrored, so that a tool which does not say rightly
   *   which ones cannot be called
   * @returns the tools that can be called
   */
  learn(tools: readonly Tool[], mirrors: boolean): readonly Tool[] {
    const before = this.#known;
    this.#known = new Map();
    this.#isOutdated = false;
    return tools.filter((tool) => this.#learnOne(tool, mirrors, before.get(tool.name)));
  }

  /** Whether the tools have changed since they were listed. */
  get isOutdated(): boolean {
    return this.#isOutdated;
  }

  outdate(): void {
    this.#isOutdated = true;
  }

  paramHeaders(name: string): readonly ParamHeader[] {
    return this.#known.get(name)?.paramHeaders ?? [];
  }

  /** @throws ClientError `invalid-answer` for a result that is not what the tool declares. */
  async check(name: string, structured: unknown): Promise<void> {
    const known = this.#known.get(name);
    if (known?.outputSchema === undefined) return;
    known.check ??= this.#compile(name, known.outputSchema);
    if (typeof known.check !== "function") {
      throw new ClientError(
        "invalid-answer",
        `the results of ${JSON.stringify(name)} cannot be checked: ${known.check.message}`,
      );
    }
    if (structured === undefined) {
      throw new ClientError(
        "invalid-answer",
        `${JSON.stringify(name)} declares an output schema, but its result has no structuredContent`,
      );
    }
    const issues = await listFaults(known.check, structured);
    if (issues.length === 0) return;
    throw new ClientError(
      "invalid-answer",
      `the result of ${JSON.stringify(name)} is not what its output schema says:\n${listIssues(issues)}`,
    );
  }

  #learnOne(tool: Tool, mirrors: boolean, before: Known | undefined): boolean {
    const { name, inputSchema, outputSchema } = tool;
    const found = readParamHeaders(inputSchema);
    if (mirrors && "message" in found) {
      this.#warn(`the tool ${JSON.stringify(name)} is left out: ${found.message}`);
      return false;
    }
    const schemaText = outputSchema === undefined ? undefined : JSON.stringify(outputSchema);
    const isSame = before !== undefined && before.schemaText === schemaText;
    this.#known.set(name, {
      paramHeaders: "message" in found ? [] : found,
      outputSchema,
      schemaText,
      check: isSame ? before.check : undefined,
    });
    return true;
  }

  #compile(name: string, schema: unknown): Validate | Unusable {
    if (!isObject(schema)) return { message: `it must be an object, not ${describe(schema)}` };
    if (schema["$schema"] !== undefined && dialectOf(schema) === undefined) {
      this.#warn(
        `the results of ${JSON.stringify(name)} are not checked: its schema is of an unknown dialect`,
      );
      return (value) => ({ issues: undefined, value });
    }
    try {
      return compileSchema(schema, "output", "its output schema").validate;
    } catch (cause) {
      if (cause instanceof DeclarationError) return { message: cause.message };
      throw cause;
    }
  }
}

async function listFaults(check: Validate, structured: unknown): Promise<readonly Issue[]> {
  try {
    const { issues = [] } = await check(structured);
    return issues;
  } catch (cause) {
    // A stranger's schema and a stranger's value: together they may be more than the stack holds.
    throw new ClientError("invalid-answer", "the output schema cannot be evaluated", { cause });
  }
}
