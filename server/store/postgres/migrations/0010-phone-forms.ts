/** The form of a phone number that a contact last wrote with. */

export const PHONE_FORMS_0010 = `
  alter table chats add column last_form text collate "C"`;
