/** Bodies of the sandbox's routes. */

import { Type } from "typebox";
import {
  CALL_ACTIONS,
  CHANNELS,
  type InboxBehaviour as InboxBehaviourBody,
  type PhoneCall as WirePhoneCall,
  type PhoneGroupPhoto as WirePhoneGroupPhoto,
  type PhoneKeptAudio as WirePhoneKeptAudio,
  type PhoneMessage as WirePhoneMessage,
  type PhonePayment as WirePhonePayment,
  type PhoneReaction as WirePhoneReaction,
  type PhoneSettings as WirePhoneSettings,
  type PhoneTyping as WirePhoneTyping,
  type SetClock as WireSetClock,
} from "../../../sdk/wire.ts";
import { closed, IdempotencyKey, ReactionCommand, text, wire } from "./common.ts";
import { ATTACHMENTS_MAX, AttachmentInput, TEXT_LENGTH_MAX } from "./messages.ts";

/** Contract 7. `delayMs` goes to twice the 30 s that a sender waits, `failFirst` to twice the requests that are kept. */
export const InboxBehaviour = wire<Partial<InboxBehaviourBody>>()(
  closed({
    status: Type.Optional(Type.Integer({ minimum: 200, maximum: 599 })),
    delayMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60_000 })),
    failFirst: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
  }),
);

/** The customer's number that a phone turns to; the engine judges it, which has codes of its own. */
const to = Type.Optional(text(1, 512));
const idempotencyKey = Type.Optional(IdempotencyKey);

/** What a phone writes. */
export const PhoneMessage = wire<WirePhoneMessage>()(
  closed({
    text: Type.Optional(text(0, TEXT_LENGTH_MAX)),
    attachments: Type.Optional(Type.Array(AttachmentInput, { maxItems: ATTACHMENTS_MAX })),
    replyTo: Type.Optional(text(1, 512)),
    to,
    channel: Type.Optional(Type.Enum(CHANNELS)),
    idempotencyKey,
  }),
);

export const PhoneTyping = wire<WirePhoneTyping>()(closed({ typing: Type.Boolean(), to, idempotencyKey }));

export const PhoneReaction = wire<WirePhoneReaction>()(
  closed({ messageId: text(1, 512), type: ReactionCommand, idempotencyKey }),
);

/** The audio message that a phone keeps. */
export const PhoneKeptAudio = wire<WirePhoneKeptAudio>()(closed({ messageId: text(1, 512), idempotencyKey }));

/** The group whose photo a phone changes. */
export const PhoneGroupPhoto = wire<WirePhoneGroupPhoto>()(closed({ chatId: text(1, 512), idempotencyKey }));

/** What a phone pays. A number's decimals are judged by the engine. */
export const PhonePayment = wire<WirePhonePayment>()(
  closed({
    amount: Type.Optional(Type.Union([Type.Number(), Type.String({ format: "amount" })])),
    requestId: Type.Optional(text(1, 512)),
    to,
    idempotencyKey,
  }),
);

export const PhoneCall = wire<WirePhoneCall>()(
  closed({ action: Type.Enum(CALL_ACTIONS), video: Type.Optional(Type.Boolean()), to, idempotencyKey }),
);

/** A phone waits at most ten minutes before each receipt. */
const LATENCY_MS_MAX = 600_000;

/** What of a phone's settings is to be changed. */
export const PhoneSettings = wire<Partial<WirePhoneSettings>>()(
  closed({
    online: Type.Optional(Type.Boolean()),
    imessage: Type.Optional(Type.Boolean()),
    readReceipts: Type.Optional(Type.Boolean()),
    edits: Type.Optional(Type.Boolean()),
    latencyMs: Type.Optional(Type.Integer({ minimum: 0, maximum: LATENCY_MS_MAX })),
    lossPercent: Type.Optional(Type.Number({ minimum: 0, maximum: 100 })),
  }),
);

/** Body of `POST /v1/sandbox/clock`: which of the two, the handler says. */
export const SetClock = wire<WireSetClock>()(
  closed({ advance: Type.Optional(text(1, 20)), reset: Type.Optional(Type.Boolean()), idempotencyKey }),
);

/** Body of `POST /v1/sandbox/reset`. */
export const ResetSandbox = closed({ idempotencyKey });
