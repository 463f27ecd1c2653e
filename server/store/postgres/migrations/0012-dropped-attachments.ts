/** The rule of a message for channels that do not carry its files, and the number of files that are not sent. Older messages send all. */

export const DROPPED_ATTACHMENTS_0012 = `
  alter table messages add column attachments_rule text collate "C";

  alter table messages add column attachments_dropped bigint not null default 0`;
