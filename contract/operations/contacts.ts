/** Operations on contacts. */

import {
  Contact,
  ContactList,
  ContactsQuery,
  CreateContact,
  CreateContacts,
  CreatedContacts,
  contactExample,
  DeleteContactQuery,
  DeleteContacts,
  DeletedContact,
  DeletedContacts,
  FacetimeAvailability,
  Focus,
  UpdateContact,
} from "../contacts.ts";
import { linksTo, operation, type Section } from "../operation.ts";
import { at, CONTACT, IDS } from "../samples.ts";
import { EITHER_FORM } from "../sentences.ts";
import { addressShown } from "../values.ts";

const records: Section["operations"] = {
  "POST /v1/contacts": operation({
    id: "createContact",
    summary: "Create a contact",
    description: "A contact needs a phone number or an e-mail address. No two contacts share an address.",
    status: 201,
    body: CreateContact,
    response: Contact,
    example: { ...contactExample, lastContactedAt: null },
    errors: ["CONTACT_DUPLICATE"],
    bodyExample: { firstName: "Ada", lastName: "Lovelace", phoneNumber: CONTACT, tags: ["guests"] },
    links: linksTo("getContact", "updateContact", "deleteContact"),
  }),
  "GET /v1/contacts": operation({
    id: "listContacts",
    summary: "List contacts",
    description: "Lists contacts newest first, in pages of `limit` and `offset`.",
    query: ContactsQuery,
    response: ContactList,
    example: { contacts: [contactExample], pagination: { total: 1, limit: 50, offset: 0, hasMore: false } },
    queryExample: { search: "ada", tag: "guests" },
  }),
  "POST /v1/contacts/bulk": operation({
    id: "createContacts",
    summary: "Create many contacts",
    description:
      "Creates up to 100 contacts. Each is checked by itself: `errors` lists the invalid ones, which do not stop the others. If none could be created, the status is 200.",
    status: 201,
    body: CreateContacts,
    response: CreatedContacts,
    example: { created: 1, failed: 1, errors: [{ index: 1, error: "A contact with +15005550101 exists already." }] },
    bodyExample: { contacts: [{ phoneNumber: "+15005550110" }, { phoneNumber: CONTACT }] },
  }),
  "DELETE /v1/contacts/bulk": operation({
    id: "deleteContacts",
    summary: "Delete many contacts",
    description: "Deletes up to 100 contacts. Unknown ids are not counted.",
    body: DeleteContacts,
    response: DeletedContacts,
    example: { deleted: 1 },
    bodyExample: { ids: [IDS.contact] },
  }),
  "GET /v1/contacts/:id": operation({
    id: "getContact",
    summary: "Get a contact",
    description: "Includes when a message was last sent to or received from one of its addresses.",
    response: Contact,
    example: contactExample,
  }),
  "PUT /v1/contacts/:id": operation({
    id: "updateContact",
    summary: "Change a contact",
    description: "Changes the fields of the body; an absent field stays as it is, null removes the value.",
    body: UpdateContact,
    response: Contact,
    example: { ...contactExample, tags: ["guests", "regulars"], updatedAt: at(90) },
    errors: ["CONTACT_DUPLICATE"],
    bodyExample: { tags: ["guests", "regulars"] },
  }),
  "DELETE /v1/contacts/:id": operation({
    id: "deleteContact",
    summary: "Delete a contact",
    description:
      "Keeps the conversation, unless `erase=true`: then the texts, files and event bytes of the conversation until now are erased too. `erasedAt` says when, and is null until everything is erased; repeat the request to see the progress. Scheduled messages and pending payment requests are cancelled; a message that is being sent is erased when it has ended. An opt-out (STOP) stays.",
    query: DeleteContactQuery,
    response: DeletedContact,
    example: { id: IDS.contact, deleted: true },
  }),
};

const availability: Section["operations"] = {
  "GET /v1/contacts/:phone/focus": operation({
    id: "getFocus",
    summary: "Show whether a contact silences notifications",
    description: "Known only for contacts with messages in both directions; for all others the status is 404.",
    response: Focus,
    example: { phoneNumber: CONTACT, focused: false, focusActive: false, cached: false },
    errors: ["INVALID_PHONE_NUMBER", "CHANNEL_NOT_SUPPORTED", "PROVIDER_ERROR", "PROVIDER_TIMEOUT"],
  }),
  "GET /v1/contacts/:phone/facetime": operation({
    id: "getFacetimeAvailability",
    summary: "Show whether a contact can be called by FaceTime",
    description: "Asks the provider, and caches its answer for a while: `cached` says so.",
    response: FacetimeAvailability,
    example: { phoneNumber: CONTACT, available: true, cached: false },
    errors: [
      "INVALID_PHONE_NUMBER",
      "NO_DEFAULT_ADDRESS",
      "CHANNEL_NOT_SUPPORTED",
      "PROVIDER_ERROR",
      "PROVIDER_TIMEOUT",
    ],
  }),
};

export const contacts: Section = {
  tag: "Contacts",
  description:
    "The customer's address book. Sending does not need it; `createContact` of a message adds the recipient to it.",
  parameters: {
    id: { description: "Id of the contact.", example: IDS.contact },
    phone: { description: `Phone number or iMessage e-mail. ${EITHER_FORM}`, example: CONTACT, ...addressShown },
  },
  operations: { ...records, ...availability },
};
