/** The form of a phone number that a contact last wrote with, and one pair in the queue for all forms of a recipient's phone. */

import { PHONE_KEY } from "../phone-key.ts";

export const PHONE_FORMS_0010 = [
  `alter table chats add column last_form text collate "C"`,
  `create function phone_key(address text) returns text language sql immutable parallel safe as $$
    select case when left(address, 3) in ('+52', '+54', '+55') or left(address, 4) in ('+225', '+229') then ${PHONE_KEY} else address end
  $$`,
  `update due_messages set "to" = phone_key("to") where "to" <> phone_key("to")`,
];
