/** The bridge for the Fetch standard: `Request` in, `Response` out. */

import type { Principal } from "../core/access.ts";
import type { Awaitable } from "../util/awaitable.ts";
import { type EventStream, maxQueuedBytes } from "./event-stream.ts";
import type { HttpReply, HttpRequest } from "./http.ts";

interface Handler {
  handle(request: HttpRequest): Awaitable<HttpReply>;
}

export async function serveFetch(
  endpoint: Handler,
  request: Request,
  principal?: Principal,
): Promise<Response> {
  const reply = await endpoint.handle(toHttpRequest(request, principal));
  const body = reply.stream === undefined ? (reply.body ?? null) : pour(reply.stream, request);
  return new Response(body, { status: reply.status, headers: { ...reply.headers } });
}

function pour(stream: EventStream, request: Request): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const { signal } = request;
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const onAbort = (): void => {
          stream.disconnect();
          // Whoever still reads learns of it; a body that neither goes on nor ends holds them.
          controller.error(signal.reason);
        };
        stream.attach({
          write: (text) => controller.enqueue(encoder.encode(text)),
          waiting: () => maxQueuedBytes - (controller.desiredSize ?? maxQueuedBytes),
          end: () => controller.close(),
          destroy: () => controller.error(new Error("the reader of the stream fell behind")),
        });
        if (signal.aborted) onAbort();
        else signal.addEventListener("abort", onAbort, { once: true });
        // The stream holds the request until then: on Node the signal of one that is no
        // longer held never aborts.
        stream.onClose(() => request.signal.removeEventListener("abort", onAbort));
      },
      cancel: () => stream.disconnect(),
    },
    { highWaterMark: maxQueuedBytes, size: (chunk) => chunk?.byteLength ?? 0 },
  );
}

function toHttpRequest(request: Request, principal: Principal | undefined): HttpRequest {
  const { headers } = request;
  const { authority, target } = splitUrl(request.url);
  return {
    method: request.method,
    target,
    // A Request made by hand carries its host in the URL alone.
    host: headers.get("host") ?? authority,
    headers: (name) => headers.get(name) ?? undefined,
    principal,
    body: (maxBytes) => readBody(request, maxBytes),
    onDisconnect: (callback) => {
      if (request.signal.aborted) callback();
      else request.signal.addEventListener("abort", callback, { once: true });
    },
  };
}

/** A Request's URL is absolute and normalised, so that splitting it needs no parser. */
function splitUrl(url: string): { readonly authority: string; readonly target: string } {
  const start = url.indexOf("://") + 3;
  const found = url.slice(start).search(/[/?#]/);
  const end = found < 0 ? url.length : start + found;
  const fragment = url.indexOf("#", end);
  const target = url.slice(end, fragment < 0 ? undefined : fragment);
  return {
    authority: url.slice(start, end),
    target: target.startsWith("/") ? target : `/${target}`,
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Uint8Array | "too-large"> {
  if (request.body === null) return new Uint8Array();
  const reader = request.body.getReader();
  try {
    return await drain(reader, maxBytes);
  } catch {
    // A body that breaks off is no message; the caller is gone and its reply goes nowhere.
    return new Uint8Array();
  }
}

/** Counts what really comes: a length header is only a claim. */
async function drain(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | "too-large"> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.byteLength;
    if (length > maxBytes) {
      // Whoever sends may take its time to stop, or fail at it; the refusal waits for neither.
      reader.cancel().catch(() => undefined);
      return "too-large";
    }
    chunks.push(value);
  }
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  return join(chunks, length);
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}
