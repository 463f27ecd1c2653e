/** Provider instances: one connection to one peer, and the lane of every message that it hands over. */

import type { ProviderName } from "../../sdk/wire.ts";
import type { InstanceId } from "./id.ts";

export interface Instance {
  id: InstanceId;
  name: string;
  provider: ProviderName;
  createdAt: number;
}
