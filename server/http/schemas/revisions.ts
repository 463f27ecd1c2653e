/** Bodies of what is ordered of a message that was sent: edit, unsend, react. */

import { Type } from "typebox";
import { REACTION_COMMANDS, type EditMessage as WireEditMessage, type React as WireReact } from "../../../sdk/wire.ts";
import { closed, IdempotencyKey, text, wire } from "./common.ts";

/** Longest text of a message, in characters (contract 3). */
const TEXT_LENGTH_MAX = 10_000;

const Text = text(1, TEXT_LENGTH_MAX);

/** That `text` or its synonym is there is for the handler to see to. */
export const EditMessage = wire<WireEditMessage>()(
  closed({
    text: Type.Optional(Text),
    content: Type.Optional(closed({ text: Text })),
    backwardsCompatibilityMessage: Type.Optional(Text),
  }),
);

export const UnsendMessage = closed({ idempotencyKey: Type.Optional(IdempotencyKey) });

/** That `type` or its synonym is there is for the handler to see to. */
export const React = wire<WireReact>()(
  closed({
    type: Type.Optional(Type.Enum(REACTION_COMMANDS)),
    reaction: Type.Optional(Type.Enum(REACTION_COMMANDS)),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);
