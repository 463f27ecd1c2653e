/** Schemas of chat requests, proven equal to the wire contract. */

import { Type } from "typebox";
import {
  TYPING_STATUSES,
  type AddParticipant as WireAddParticipant,
  type CreateGroup as WireCreateGroup,
  type RenameChat as WireRenameChat,
  type SetTyping as WireSetTyping,
} from "../../../sdk/wire.ts";
import { GROUP_MAX, GROUP_MIN, GROUP_NAME_LENGTH_MAX } from "../../core/chat.ts";
import { Address, closed, IdempotencyKey, page, text, wire } from "./common.ts";

/** Addresses in bodies have an error code of their own, so the engine judges them. */
const AnyAddress = text(0, 512);

const GroupName = text(1, GROUP_NAME_LENGTH_MAX);

/** Body of `POST /v1/chats/groups`. */
export const CreateGroup = wire<WireCreateGroup>()(
  closed({
    name: Type.Optional(GroupName),
    participants: Type.Array(AnyAddress, { minItems: GROUP_MIN, maxItems: GROUP_MAX }),
    from: Type.Optional(text(1, 512)),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

/** Body of `PUT /v1/chats/:id/name`. */
export const RenameChat = wire<WireRenameChat>()(closed({ name: GroupName }));

/** Body of `POST /v1/chats/:id/participants`: one of the two names. */
export const AddParticipant = wire<WireAddParticipant>()(
  closed({
    participant: Type.Optional(AnyAddress),
    phoneNumber: Type.Optional(AnyAddress),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

/** Body of `POST /v1/chats/:id/typing`. */
export const SetTyping = wire<WireSetTyping>()(
  closed({ status: Type.Optional(Type.Enum(TYPING_STATUSES)), idempotencyKey: Type.Optional(IdempotencyKey) }),
);

/** Body of the commands that say nothing more. */
export const CommandChat = closed({ idempotencyKey: Type.Optional(IdempotencyKey) });

const from = Type.Optional(Address);

/** Query of the routes of one chat: of several threads with one address, the one of this number. */
export const NameChat = closed({ from });

export const ListChats = closed({ ...page });

export const ListMessagesOfChat = closed({ ...page, from });
