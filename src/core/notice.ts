/** What a server tells on its own: about a running call, or about what has changed. */
import type { ChangeableList, LogLevel } from "./call.ts";

export type Notice =
  | {
      readonly kind: "progress";
      readonly token: string | number;
      readonly progress: number;
      readonly total: number | undefined;
      readonly message: string | undefined;
    }
  | {
      readonly kind: "log";
      readonly level: LogLevel;
      readonly logger: string | undefined;
      readonly data: unknown;
    }
  | Change;

/** Something that a caller may hold a copy of is no longer what it was. */
export type Change =
  | { readonly kind: "list-changed"; readonly list: ChangeableList }
  | { readonly kind: "resource-updated"; readonly uri: string };
