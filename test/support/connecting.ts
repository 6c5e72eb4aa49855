/** Connecting as if each server were met for the first time: free ports come around again. */
import { type Client, connect as connectAsKnown, MemoryVerdicts } from "anyrev/client";

type Connect = typeof connectAsKnown;

/** What is learnt of a server is forgotten with the client, unless the options say where to keep it. */
export function connect(
  to: Parameters<Connect>[0],
  options: Parameters<Connect>[1] = {},
): Promise<Client> {
  return connectAsKnown(to, { verdicts: new MemoryVerdicts(), ...options });
}
