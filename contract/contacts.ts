/** Contacts: the address book, and what providers know about a contact. */

import { type Static, type TSchema, Type } from "typebox";
import { at, CONTACT, IDS } from "./samples.ts";
import {
  atOrNull,
  closed,
  count,
  flag,
  id,
  list,
  optional,
  orNull,
  record,
  request,
  SHOWN,
  says,
  shows,
  string,
  stringOrNull,
  text,
} from "./schema.ts";
import {
  anyMetadata,
  Channel,
  changed,
  Deleted,
  Email,
  IdempotencyKey,
  metadataInput,
  Phone,
  page,
  size,
} from "./values.ts";

/** Longest name of a person or company, in characters. */
const NAME_LENGTH_MAX = 255;
const TAG_LENGTH_MAX = 64;
const TAGS_MAX = 50;
/** Contacts in one bulk request. */
const BULK_MAX = 100;
/** Largest `offset`: the list has no cursor, so every contact must be reachable by offset. */
const OFFSET_MAX = 1_000_000;

const Tag = Type.String({
  minLength: 1,
  maxLength: TAG_LENGTH_MAX,
  format: "printable",
  [SHOWN]: { pattern: "^[^\\x00-\\x1f\\x7f-\\x9f]*$" },
});

const nullable = <Schema extends TSchema>(schema: Schema, sentence: string) => optional(orNull(schema, sentence));

/** Fields of a contact; null or an empty name means no value. */
const fields = {
  firstName: nullable(text(0, NAME_LENGTH_MAX), "Given name."),
  lastName: nullable(text(0, NAME_LENGTH_MAX), "Family name."),
  phoneNumber: nullable(Phone, "Phone number in E.164 form, such as `+15005550100`."),
  email: nullable(Email, "E-mail address that iMessage knows."),
  company: nullable(text(0, NAME_LENGTH_MAX), "Company."),
  tags: optional(list(Tag, "Your own words to find the contact by.", { maxItems: TAGS_MAX })),
  metadata: nullable(metadataInput, "Your own JSON object, returned unchanged: at most 50 keys and 16 KiB."),
};

/** The engine checks that one of the two is there, and not null. */
const reachable = {
  allOf: [
    {
      anyOf: ["phoneNumber", "email"].map((name) => ({
        required: [name],
        properties: { [name]: { type: "string" } },
      })),
    },
  ],
};

export const CreateContact = request(
  "CreateContact",
  "Body of `POST /v1/contacts`: at least one of `phoneNumber` and `email`.",
  { ...fields, idempotencyKey: optional(IdempotencyKey) },
  reachable,
);

export const UpdateContact = request(
  "UpdateContact",
  "Body of `PUT /v1/contacts/:id`: an absent field stays as it is, null removes the value.",
  fields,
);

/** One contact of a bulk request: each is checked by itself, so that a bad one does not stop the others. */
const ContactInput = request("ContactInput", "A contact of a bulk request.", fields, reachable);

export const CreateContacts = request("CreateContacts", "Body of `POST /v1/contacts/bulk`.", {
  contacts: list(
    shows(Type.Unsafe<Static<typeof UpdateContact>>({ "x-typescript": "UpdateContact" }), {
      instead: ContactInput,
    }),
    "1 to 100 contacts, without an `idempotencyKey` of their own.",
    { minItems: 1, maxItems: BULK_MAX },
  ),
  idempotencyKey: optional(IdempotencyKey),
});

export const CreatedContacts = record("CreatedContacts", "Response of `POST /v1/contacts/bulk`.", {
  created: size("Number of contacts that were created."),
  failed: size("Number of contacts that were not."),
  errors: list(
    Type.Object({ index: size("Position of the contact in the request, from 0."), error: string("The problem.") }),
    "The contacts that were not created, and why.",
  ),
});

export const DeleteContacts = request("DeleteContacts", "Body of `DELETE /v1/contacts/bulk`.", {
  ids: list(text(1, 512), "1 to 100 ids of contacts.", { minItems: 1, maxItems: BULK_MAX }),
});

export const DeletedContacts = record("DeletedContacts", "Response of `DELETE /v1/contacts/bulk`.", {
  deleted: size("Number of contacts that were deleted."),
});

export const Contact = record("Contact", "A contact.", {
  id: id("con"),
  firstName: stringOrNull("Given name."),
  lastName: stringOrNull("Family name."),
  phoneNumber: stringOrNull("Phone number in E.164 form."),
  email: stringOrNull("E-mail address that iMessage knows."),
  company: stringOrNull("Company."),
  tags: list(Type.String(), "Your own words to find the contact by."),
  metadata: orNull(anyMetadata, "Your own JSON object, as you sent it."),
  lastContactedAt: atOrNull("When a message was last sent to or received from one of its addresses."),
  ...changed,
});

export const ContactList = record("ContactList", "A page of contacts.", {
  contacts: list(Contact, "The contacts of this page."),
  pagination: Type.Object(
    {
      total: size("Number of contacts that match."),
      limit: count("The most contacts on a page.", { minimum: 1 }),
      offset: size("Number of contacts that were skipped."),
      hasMore: flag("Whether there is another page."),
    },
    { description: "Position of the page in the list." },
  ),
});

/** Query of `GET /v1/contacts`. */
export const ContactsQuery = closed({
  limit: page.limit,
  offset: Type.Integer({
    minimum: 0,
    maximum: OFFSET_MAX,
    default: 0,
    description: "Number of contacts to skip.",
  }),
  search: optional(text(0, NAME_LENGTH_MAX, "Only contacts whose name, address or company contains this text.")),
  tag: optional(says(Tag, "Only contacts with this tag.")),
});

/** Query of `DELETE /v1/contacts/:id`. */
export const DeleteContactQuery = closed({
  erase: optional(flag("Whether to erase the texts and files of the conversation too.")),
});

export const DeletedContact = record("DeletedContact", "Response of `DELETE /v1/contacts/:id`.", {
  ...Deleted.properties,
  erasedAt: optional(atOrNull("With `erase=true` only: when everything was erased; null until then.")),
});

const cached = flag("Whether the response comes from a cache.");

export const Focus = record("Focus", "Response of `GET /v1/contacts/:phone/focus`.", {
  phoneNumber: string("The address, as requested."),
  focused: flag("Whether the contact silences notifications; false if that is not known."),
  focusActive: flag("The same as `focused`."),
  focusMode: optional(string("Name of the focus mode, if it is known.")),
  cached,
});

export const FacetimeAvailability = record("FacetimeAvailability", "Response of `GET /v1/contacts/:phone/facetime`.", {
  phoneNumber: string("The address, as requested."),
  available: flag("Whether the contact can be called by FaceTime."),
  cached,
});

export const PhoneCapabilities = record("PhoneCapabilities", "Response of `GET /v1/capabilities/:phone`.", {
  phoneNumber: string("The address, as requested."),
  capabilities: Type.Object(
    {
      imessage: flag("Whether iMessage reaches the address."),
      sms: flag("Whether SMS reaches the address."),
      facetime: flag("Whether FaceTime reaches the address."),
    },
    { description: "Which services reach the address." },
  ),
  iMessage: flag("The same as `capabilities.imessage`."),
  recommendedChannel: orNull(Channel, "The channel to send by; null if no channel reaches the address."),
  lastChecked: Type.String({ format: "date-time", description: "When a provider was last asked." }),
  cached,
  focused: flag("Whether the contact silences notifications; false if that is not known."),
  focusMode: optional(string("Name of the focus mode, if it is known.")),
});

export const contactExample: Static<typeof Contact> = {
  id: IDS.contact,
  firstName: "Ada",
  lastName: "Lovelace",
  phoneNumber: CONTACT,
  email: null,
  company: "Analytical Engines",
  tags: ["guests"],
  metadata: { seat: "window" },
  lastContactedAt: at(60),
  createdAt: at(0),
  updatedAt: at(0),
};
