/** Payment requests and their lifecycle: signal × status → status, as a table. Money is in integer cents. Pure. */

import type { Metadata, PaymentEvidence, PaymentStatus } from "../../sdk/wire.ts";
import type { CustomerId, KeyId, MessageId, PaymentId } from "./id.ts";

export interface Payment {
  id: PaymentId;
  version: number;
  customerId: CustomerId;
  keyId: KeyId;
  /** The message that asks for it. */
  messageId: MessageId;
  from: string;
  to: string;
  amountCents: number;
  currency: "USD";
  note: string | null;
  status: PaymentStatus;
  metadata: Metadata | null;
  callbackUrl: string | null;
  correlationId: string;
  paidBy: { messageId: MessageId; evidence: PaymentEvidence } | null;
  /** Why it was cancelled. */
  reason: string | null;
  /** When it expires; `dueAt` is the same while it is pending, else null. */
  expiresAt: number;
  dueAt: number | null;
  paidAt: number | null;
  cancelledAt: number | null;
  createdAt: number;
  updatedAt: number;
}
