/** Schemas of contact requests, proven equal to the wire contract. */

import { type TSchema, Type } from "typebox";
import type {
  CreateContact as WireCreateContact,
  CreateContacts as WireCreateContacts,
  DeleteContacts as WireDeleteContacts,
  UpdateContact as WireUpdateContact,
} from "../../../sdk/wire.ts";
import { closed, Email, IdempotencyKey, Metadata, Phone, page, text, wire } from "./common.ts";

/** Longest name of a person or company, in characters. */
const NAME_LENGTH_MAX = 255;
const TAG_LENGTH_MAX = 64;
const TAGS_MAX = 50;
/** Contacts in one bulk request. */
const BULK_MAX = 100;
/** Farthest that the list can be entered: it has no cursor, so every contact has to be within reach. */
const OFFSET_MAX = 1_000_000;

const Tag = Type.String({ minLength: 1, maxLength: TAG_LENGTH_MAX, format: "printable" });

const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]));

/** What can be said of a contact; null or an empty name is nothing. That one address is there is for the engine to see. */
const fields = {
  firstName: optional(text(0, NAME_LENGTH_MAX)),
  lastName: optional(text(0, NAME_LENGTH_MAX)),
  phoneNumber: optional(Phone),
  email: optional(Email),
  company: optional(text(0, NAME_LENGTH_MAX)),
  tags: Type.Optional(Type.Array(Tag, { maxItems: TAGS_MAX })),
  metadata: optional(Metadata),
};

export const CreateContact = wire<WireCreateContact>()(
  closed({ ...fields, idempotencyKey: Type.Optional(IdempotencyKey) }),
);

export const UpdateContact = wire<WireUpdateContact>()(closed(fields));

/** Each contact is judged by itself, by `UpdateContact`: a bad one must not stop the others. */
export const CreateContacts = wire<WireCreateContacts>()(
  closed({
    contacts: Type.Array(
      Type.Unsafe<WireUpdateContact>({
        description: "A contact as in POST /v1/contacts, without an idempotencyKey. Each is judged by itself.",
      }),
      { minItems: 1, maxItems: BULK_MAX },
    ),
    idempotencyKey: Type.Optional(IdempotencyKey),
  }),
);

export const DeleteContacts = wire<WireDeleteContacts>()(
  closed({ ids: Type.Array(text(1, 512), { minItems: 1, maxItems: BULK_MAX }) }),
);

/** Query of `DELETE /v1/contacts/:id`. */
export const DeleteContact = closed({ erase: Type.Optional(Type.Boolean()) });

export const ListContacts = closed({
  limit: page.limit,
  offset: Type.Integer({ minimum: 0, maximum: OFFSET_MAX, default: 0 }),
  search: Type.Optional(text(0, NAME_LENGTH_MAX)),
  tag: Type.Optional(Tag),
});
