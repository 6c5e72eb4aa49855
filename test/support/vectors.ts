/** The request/outcome pairs of SELECTION.md; its `about` says what each field means. */
import { readFileSync } from "node:fs";

export interface VectorRequest {
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly httpMethod?: string;
  readonly body?: unknown;
  readonly raw?: string;
  readonly rawBase64?: string;
  readonly session?: string;
}

interface ExpectedRefusal {
  readonly code?: number;
  readonly status: number;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface ExpectedHttp {
  readonly status: number;
  readonly error?: number;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly messageIncludes?: string;
  readonly resultLacks?: readonly string[];
  readonly headerAbsent?: string;
  readonly emptyBody?: boolean;
  readonly anyOf?: readonly ExpectedHttp[];
}

export interface Vector {
  readonly id: string;
  readonly rule: number | string;
  readonly request: VectorRequest;
  readonly revisions?: readonly string[];
  readonly expect: {
    readonly select?: { readonly revision: string; readonly reason: string };
    readonly refuse?: ExpectedRefusal;
    readonly http?: ExpectedHttp;
  };
}

const file = new URL("../vectors/selection.json", import.meta.url);

export const vectors: readonly Vector[] = (
  JSON.parse(readFileSync(file, "utf8")) as { vectors: Vector[] }
).vectors;

/** The bytes to send; undefined for a request without a body. */
export function bytesOf({ body, raw, rawBase64 }: VectorRequest): Uint8Array | undefined {
  if (rawBase64 !== undefined) return new Uint8Array(Buffer.from(rawBase64, "base64"));
  const text = raw ?? (body === undefined ? undefined : JSON.stringify(body));
  return text === undefined ? undefined : new TextEncoder().encode(text);
}
