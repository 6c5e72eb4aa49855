/** How a measured server talks to the run: where it listens, and what it has used so far. */
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Order =
  | { readonly kind: "cpu" }
  | { readonly kind: "reply"; readonly body: string }
  | { readonly kind: "stop" };

/** How many tools the server has: `add` alone, or `add` among 200. */
export const toolCount = Number(process.argv[2] ?? "1");

export async function listen(http: Server, onReply?: (body: string) => void): Promise<void> {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  report((http.address() as AddressInfo).port, onReply);
}

/** Says that it is ready, and from then on what it has used. */
export function report(port: number, onReply?: (body: string) => void): void {
  process.on("message", (order: Order) => {
    if (order.kind === "stop") process.exit(0);
    if (order.kind === "reply") onReply?.(order.body);
    const { user, system } = process.cpuUsage();
    process.send?.({ kind: "cpu", micros: user + system });
  });
  process.send?.({ kind: "ready", port });
}

export function toolNames(): string[] {
  return Array.from({ length: toolCount - 1 }, (_, index) => `tool_${index}`);
}
