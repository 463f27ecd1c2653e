/** Reference of contacts: who they are, and what their phones tell. */

import { Type } from "typebox";
import type {
  Contact as WireContact,
  ContactList as WireContactList,
  CreatedContacts as WireCreatedContacts,
  DeletedContact as WireDeletedContact,
  DeletedContacts as WireDeletedContacts,
  FacetimeAvailability as WireFacetimeAvailability,
  Focus as WireFocus,
} from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { UpdateContact } from "../schemas/contacts.ts";
import { Deleted } from "./messages.ts";
import { AnyObject, At, AtOrNull, component, id, operation, orNull, type Section, TextOrNull } from "./operation.ts";
import { at, CONTACT, IDS } from "./samples.ts";

const Contact = wire<WireContact>()(
  component("Contact", {
    id: id("con"),
    firstName: TextOrNull,
    lastName: TextOrNull,
    phoneNumber: TextOrNull,
    email: TextOrNull,
    company: TextOrNull,
    tags: Type.Array(Type.String()),
    metadata: orNull(AnyObject),
    lastContactedAt: AtOrNull,
    createdAt: At,
    updatedAt: At,
  }),
);

const DeletedContact = wire<WireDeletedContact>()(
  component("DeletedContact", { ...Deleted.properties, erasedAt: Type.Optional(AtOrNull) }),
);

const ContactList = wire<WireContactList>()(
  component("ContactList", {
    contacts: Type.Array(Contact),
    pagination: Type.Object({
      total: Type.Integer({ minimum: 0 }),
      limit: Type.Integer({ minimum: 1 }),
      offset: Type.Integer({ minimum: 0 }),
      hasMore: Type.Boolean(),
    }),
  }),
);

const CreatedContacts = wire<WireCreatedContacts>()(
  component("CreatedContacts", {
    created: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
    errors: Type.Array(Type.Object({ index: Type.Integer({ minimum: 0 }), error: Type.String() })),
  }),
);

const DeletedContacts = wire<WireDeletedContacts>()(
  component("DeletedContacts", { deleted: Type.Integer({ minimum: 0 }) }),
);

const Focus = wire<WireFocus>()(
  component("Focus", {
    phoneNumber: Type.String(),
    focused: Type.Boolean(),
    focusActive: Type.Boolean(),
    focusMode: Type.Optional(Type.String()),
    cached: Type.Boolean(),
  }),
);

const FacetimeAvailability = wire<WireFacetimeAvailability>()(
  component("FacetimeAvailability", {
    phoneNumber: Type.String(),
    available: Type.Boolean(),
    cached: Type.Boolean(),
  }),
);

const example: WireContact = {
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

export const contacts: Section = {
  tag: "Contacts",
  description:
    "An address book of the customer's own. Sending does not need it; `createContact` of a message fills it.",
  parameters: {
    id: { description: "The contact.", example: IDS.contact },
    phone: { description: "A phone number or iMessage e-mail.", example: CONTACT },
  },
  operations: {
    "POST /v1/contacts": operation({
      id: "createContact",
      summary: "Make a contact",
      description: "With a phone number or an e-mail address at least. Each address is in one contact only.",
      status: 201,
      answer: Contact,
      example: { ...example, lastContactedAt: null },
      errors: ["CONTACT_DUPLICATE"],
      body: { firstName: "Ada", lastName: "Lovelace", phoneNumber: CONTACT, tags: ["guests"] },
    }),
    "GET /v1/contacts": operation({
      id: "listContacts",
      summary: "List contacts",
      description: "Newest first, by `limit` and `offset`. `search` looks into names, addresses and companies.",
      answer: ContactList,
      example: { contacts: [example], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
      query: { search: "ada", tag: "guests" },
    }),
    "POST /v1/contacts/bulk": operation({
      id: "createContacts",
      summary: "Make many contacts",
      description:
        "Up to 100, each judged by itself: a bad one is named in `errors` and stops no other. When none could be made, the answer is a 200.",
      status: 201,
      answer: CreatedContacts,
      example: { created: 1, failed: 1, errors: [{ index: 1, error: "A contact with +15005550101 exists already." }] },
      body: { contacts: [{ phoneNumber: "+15005550110" }, { phoneNumber: CONTACT }] },
      parts: { contacts: Type.Array(UpdateContact, { minItems: 1, maxItems: 100 }) },
    }),
    "DELETE /v1/contacts/bulk": operation({
      id: "deleteContacts",
      summary: "Delete many contacts",
      description: "Up to 100. Ids that are not there are not counted.",
      answer: DeletedContacts,
      example: { deleted: 1 },
      body: { ids: [IDS.contact] },
    }),
    "GET /v1/contacts/:id": operation({
      id: "getContact",
      summary: "Get a contact",
      description: "With when a message last went to or came from one of its addresses.",
      answer: Contact,
      example,
    }),
    "PUT /v1/contacts/:id": operation({
      id: "updateContact",
      summary: "Change a contact",
      description: "Changes what the body names and leaves the rest; null takes a value away.",
      answer: Contact,
      example: { ...example, tags: ["guests", "regulars"], updatedAt: at(90) },
      errors: ["CONTACT_DUPLICATE"],
      body: { tags: ["guests", "regulars"] },
    }),
    "DELETE /v1/contacts/:id": operation({
      id: "deleteContact",
      summary: "Delete a contact",
      description:
        "The conversation with it stays, unless `erase=true`: then the texts, files and event bytes of what was written with it until now are erased too, and `erasedAt` says since when, null until all is gone. The same request again answers how far it has come. A scheduled message and a pending payment request are cancelled; a message under way is erased when it has ended; an opt-out (STOP) stays.",
      answer: DeletedContact,
      example: { id: IDS.contact, deleted: true },
    }),
    "GET /v1/contacts/:phone/focus": operation({
      id: "getFocus",
      summary: "See whether a contact has notifications silenced",
      description: "Known only of people one has written with both ways; of all others it is a 404.",
      answer: Focus,
      example: { phoneNumber: CONTACT, focused: false, focusActive: false, cached: false },
      errors: ["INVALID_PHONE_NUMBER", "CHANNEL_NOT_SUPPORTED", "PROVIDER_ERROR", "PROVIDER_TIMEOUT"],
    }),
    "GET /v1/contacts/:phone/facetime": operation({
      id: "getFacetimeAvailability",
      summary: "See whether a contact can be called by FaceTime",
      description: "As the provider knows it; for a while from memory, and `cached` says so.",
      answer: FacetimeAvailability,
      example: { phoneNumber: CONTACT, available: true, cached: false },
      errors: [
        "INVALID_PHONE_NUMBER",
        "NO_DEFAULT_ADDRESS",
        "CHANNEL_NOT_SUPPORTED",
        "PROVIDER_ERROR",
        "PROVIDER_TIMEOUT",
      ],
    }),
  },
};
