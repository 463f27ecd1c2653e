/** Opt-outs: contacts that do not want messages from a number. Pure. */

import type { OptOut as WireOptOut } from "../../sdk/wire.ts";
import type { CustomerId } from "./id.ts";

export interface OptOut {
  customerId: CustomerId;
  number: string;
  contact: string;
  source: WireOptOut["source"];
  /** What the contact wrote, where that was it. */
  keyword: string | null;
  createdAt: number;
}
