/** How a measured client talks to the run: it calls so often, and says what that cost. */

export type Order =
  | { readonly kind: "count"; readonly inFlight: number; readonly calls: number }
  | { readonly kind: "stop" };

export const url: string = process.argv[2] ?? "";
export const over: string = process.argv[3] ?? "node";

export function takeOrders(call: () => Promise<unknown>): void {
  process.on("message", (order: Order) => {
    if (order.kind === "stop") process.exit(0);
    void run(order.inFlight, order.calls, call).then((result) => process.send?.(result));
  });
  process.send?.({ kind: "ready", port: 0 });
}

async function run(
  inFlight: number,
  calls: number,
  call: () => Promise<unknown>,
): Promise<{ readonly seconds: number; readonly micros: number }> {
  const before = process.cpuUsage();
  const started = performance.now();
  let left = calls;
  const keepCalling = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: inFlight }, keepCalling));
  const { user, system } = process.cpuUsage(before);
  return { seconds: (performance.now() - started) / 1000, micros: user + system };
}
