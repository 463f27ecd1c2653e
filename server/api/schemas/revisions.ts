/** Bodies of what is ordered of a message that was sent: edit, unsend, react. */

import { Type } from "typebox";
import type { EditMessage as WireEditMessage, React as WireReact } from "../../../sdk/wire.ts";
import { closed, IdempotencyKey, ReactionCommand, text, wire } from "./common.ts";

/** Longest text of a message, in characters. */
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
    type: Type.Optional(ReactionCommand),
    reaction: Type.Optional(ReactionCommand),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);
