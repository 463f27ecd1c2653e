/** FaceTime calls that were detected, and their lifecycle: status × status → allowed. Pure. */

import type { CallStatus } from "../../sdk/wire.ts";
import type { CallId, CustomerId, InstanceId } from "./id.ts";

export interface Call {
  id: CallId;
  version: number;
  customerId: CustomerId;
  instanceId: InstanceId;
  /** The provider's own name of the call, unique on its instance. */
  callUuid: string;
  /** Who began it: the other end, or the customer's address where `isOutgoing`. */
  from: string;
  /** The other end. */
  caller: string;
  /** The customer's address. */
  to: string;
  isAudio: boolean;
  isVideo: boolean;
  isOutgoing: boolean;
  status: CallStatus;
  history: { status: CallStatus; at: number }[];
  createdAt: number;
  updatedAt: number;
}
