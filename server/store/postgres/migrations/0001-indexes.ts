/**
 * The indexes of PostgreSQL's first migration. Each ends in the order of the list that it serves; why an `id` behind another column is
 * in the collation "POSIX" is at `narrowedId` in `server/store/spelling.ts`.
 */

export const INDEXES_0001 = `
  create unique index numbers_address on numbers (address);
  create index numbers_customer on numbers (customer_id);
  create unique index keys_hash on keys (hash);
  create index keys_customer on keys (customer_id, id collate "POSIX");
  create index customers_email on customers (lower(email), id collate "POSIX") where email is not null;
  create index endpoints_customer on endpoints (customer_id);
  create index endpoints_inbox on endpoints (url) where kind = 'inbox';

  create index messages_list on messages (customer_id, rowid);
  create index messages_external on messages (customer_id, external_message_id, rowid) where external_message_id is not null;
  create index messages_rare on messages (customer_id, rare_status, rowid) where rare_status is not null;
  create index messages_recipient on messages (customer_id, "to", rowid);
  create index messages_sender on messages (customer_id, "from", rowid) where direction = 'inbound';
  create index messages_chat on messages (chat_id, rowid) where chat_id is not null;
  create index messages_scheduled on messages (customer_id, waits_until, id) where waits_until is not null;
  create index messages_erase on messages (customer_id, id) where deleted_at is not null and erased_at is null;
  create index messages_unknown on messages (id) where is_unknown = 1;

  create index due_messages_lane on due_messages (lane, due_at, id) where lease is null;
  create index due_messages_timers on due_messages (lane, due_at, id) where lease is null and is_queued = 0;
  create index due_messages_pair on due_messages (lane, "from", "to", due_at, id) where lease is null and is_queued = 1;
  create index due_messages_leased on due_messages (lane, "from", "to") where lease is not null;
  create unique index due_messages_lease on due_messages (lease) where lease is not null;
  create index due_messages_attempted on due_messages (id) where due_at is null;
  create index due_deliveries_lane on due_deliveries (lane, due_at, row) where lease is null;
  create index due_deliveries_leased on due_deliveries (lane, owner, leased_until) where lease is not null;

  create index events_loose on events (customer_id, position) where message_id is null;
  create index events_message on events (message_id, position) where message_id is not null;
  create index deliveries_list on deliveries (customer_id, id collate "POSIX");
  create index deliveries_apart on deliveries (event_id) where substr(id, 5, 18) <> substr(event_id, 5, 18);

  create index send_attempts_noted on send_attempts (instance_id, started_at) where note is not null;
  create index idempotency_age on idempotency (created_at);
  create index arrivals_age on arrivals (created_at);
  create index contents_age on contents (created_at);
  create index contents_message on contents (message_id);

  create unique index chats_key on chats ("key");
  create index chats_list on chats (customer_id, id collate "POSIX");
  create index chats_groups on chats (customer_id, "from", id collate "POSIX") where is_group = 1 and left_at is null;
  create index chats_unnamed on chats (customer_id, "from", id) where is_group = 1 and reference is null;
  create index contacts_list on contacts (customer_id, id collate "POSIX");
  create unique index calls_uuid on calls (instance_id, call_uuid);
  create index calls_list on calls (customer_id, id collate "POSIX");
  create index payments_due on payments (due_at, id) where due_at is not null;
  create index payments_list on payments (customer_id, id collate "POSIX");
  create index payments_message on payments (message_id);
  create index payments_pending on payments (customer_id, "from", "to", amount_cents, id collate "POSIX") where status = 'pending';
  create index opt_outs_list on opt_outs (customer_id, created_at desc, number, contact);
  create index opt_outs_of_number on opt_outs (customer_id, number, created_at desc, contact);
  create index erasures_open on erasures (requested_at) where completed_at is null`;
