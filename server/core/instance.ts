/** Provider instances: one connection to one peer, and the lane of every message that it hands over. */

import type { ProviderName } from "../../sdk/wire.ts";
import type { InstanceId } from "./id.ts";

export interface Instance {
  id: InstanceId;
  version: number;
  name: string;
  provider: ProviderName;
  /** Sealed JSON of the provider's settings; null where it has none. */
  config: string | null;
  createdAt: number;
  updatedAt: number;
}
