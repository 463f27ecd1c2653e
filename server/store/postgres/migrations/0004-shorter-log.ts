/**
 * Settings with which a message writes less to PostgreSQL's log. Four messages share a new page, which then has room for a second
 * version of each: of five, one was moved to another page by a change, with new entries in all indexes. Leases of messages have one
 * index: a lease that is ended by its number is among few.
 */

export const SHORTER_LOG_0004 = `
  alter table messages set (fillfactor = 44);

  alter table deliveries_default set (fillfactor = 45);

  drop index due_messages_lease`;
