-- Written by `npm run schema` from server/store/tables.ts and indexes.ts, and schema.ts beside this file.

create sequence delivery_rows;

create sequence event_positions;

create sequence leases;

create sequence lease_blocks;

-- One key for all forms of a phone, as the service computes it.
create function phone_key(address text) returns text language sql immutable parallel safe as $$
  select case when left(address, 3) in ('+52', '+54', '+55') or left(address, 4) in ('+225', '+229') then regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(address, '^(\+52)1([2-9]\d{9})$', '\1\2'), '^(\+54)((?:11\d{8}|[23]\d{9}))$', '\19\2'), '^(\+55[1-9][1-9])([689]\d{7})$', '\19\2'), '^(\+229)([24-9]\d{7})$', '\101\2'), '^(\+225)(2[0-3]8\d{5})$', '\121\2'), '^(\+225)((?:2[0-4]|3[0-6])0\d{5})$', '\125\2'), '^(\+225)((?:20[23]|21[2357]|2[23][45]|24[3-5]|306|31[69]|3[2-4]7|359|368)\d{5})$', '\127\2'), '^(\+225)((?:0[1-3]|[457][0-3])\d{6})$', '\101\2'), '^(\+225)([04-9][4-6]\d{6})$', '\105\2'), '^(\+225)([04-9][7-9]\d{6})$', '\107\2') else address end
$$;

create table customers (
  version bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  secret_known smallint not null,
  id text collate "C" not null,
  name text collate "C" not null,
  secret text collate "C" not null,
  routes text collate "C" not null,
  previous_secret_until bigint,
  email text collate "C",
  company text collate "C",
  previous_secret text collate "C",
  quiet_hours text collate "C",
  opt_outs text collate "C",
  primary key (id)
);

create table numbers (
  created_at bigint not null,
  is_default smallint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  address text collate "C" not null,
  provider text collate "C" not null,
  instance_id text collate "C" not null,
  primary key (id)
);

create table keys (
  version bigint not null,
  created_at bigint not null,
  id text collate "C" not null,
  name text collate "C" not null,
  scope text collate "C" not null,
  hash text collate "C" not null,
  last4 text collate "C" not null,
  permissions text collate "C" not null,
  last_used_at bigint,
  expires_at bigint,
  revoked_at bigint,
  customer_id text collate "C",
  replaced_by text collate "C",
  rate_limit text collate "C",
  primary key (id)
);

create table instances (
  version bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  id text collate "C" not null,
  name text collate "C" not null,
  provider text collate "C" not null,
  config text collate "C",
  primary key (id)
);

create table messages (
  rowid bigint generated always as identity,
  created_at bigint not null,
  attachments_dropped bigint not null,
  fallback smallint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  direction text collate "C" not null,
  "from" text collate "C" not null,
  "to" text collate "C" not null,
  message_type text collate "C" not null,
  correlation_id text collate "C" not null,
  media_urls text collate "C" not null,
  attachments text collate "C" not null,
  mentions text collate "C" not null,
  fallback_after_ms bigint,
  scheduled_at bigint,
  edited_at bigint,
  deleted_at bigint,
  erased_at bigint,
  key_id text collate "C",
  text text collate "C",
  attachments_rule text collate "C",
  chat_id text collate "C",
  effect text collate "C",
  reply_to text collate "C",
  parent_message_id text collate "C",
  external_message_id text collate "C",
  callback_url text collate "C",
  origin text collate "C",
  payment text collate "C",
  metadata text collate "C",
  fallback_triggered smallint not null,
  instance_id text collate "C" not null,
  channel text collate "C" not null,
  channels_left text collate "C" not null,
  instances_tried text collate "C" not null,
  sent_part text collate "C",
  error_code text collate "C",
  error_message text collate "C",
  provider_error_code text collate "C",
  encoding text collate "C",
  account text collate "C",
  provider_message_id text collate "C",
  status text collate "C" not null,
  timeline text collate "C" not null,
  sequence bigint not null,
  version bigint not null,
  send_attempts bigint not null,
  retry_count bigint not null,
  updated_at bigint not null,
  segments bigint,
  expires_at bigint,
  unknown_since bigint,
  due_at bigint,
  claimed_until bigint,
  sent_at bigint,
  delivered_at bigint,
  read_at bigint,
  timeline_start text collate "C",
  rare_status text collate "C" generated always as (case when status in ('failed', 'unsent', 'cancelled') then status end) stored,
  waits_until bigint generated always as (case when status = 'scheduled' then scheduled_at end) stored,
  is_unknown smallint generated always as (case when status = 'pending' and due_at is not null then 1 end) stored,
  primary key (id)
) with (fillfactor = 44);

create table send_attempts (
  number bigint not null,
  started_at bigint not null,
  instance_id text collate "C" not null,
  reference text collate "C" not null,
  message_id text collate "C" not null,
  channel text collate "C" not null,
  state text collate "C" not null,
  ended_at bigint,
  note text collate "C",
  primary key (instance_id, reference)
);

create table provider_references (
  created_at bigint not null,
  instance_id text collate "C" not null,
  reference text collate "C" not null,
  message_id text collate "C" not null,
  channel text collate "C" not null,
  primary key (instance_id, reference)
);

create table events (
  position bigint not null,
  sequence bigint not null,
  created_at bigint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  type text collate "C" not null,
  correlation_id text collate "C" not null,
  bytes text collate "C" not null,
  message_id text collate "C",
  primary key (customer_id, position)
) partition by range (position);

create table endpoints (
  version bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  active smallint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  kind text collate "C" not null,
  url text collate "C" not null,
  events text collate "C" not null,
  max_in_flight bigint,
  previous_secret_until bigint,
  gone_since bigint,
  name text collate "C",
  secret text collate "C",
  previous_secret text collate "C",
  primary key (id)
);

create table deliveries (
  rowid bigint not null default nextval('delivery_rows'),
  sequence bigint not null,
  created_at bigint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  event_id text collate "C" not null,
  event_type text collate "C" not null,
  url text collate "C" not null,
  lane text collate "C" not null,
  message_id text collate "C",
  endpoint_id text collate "C",
  replay_id text collate "C",
  by_hand smallint not null,
  retries_asked bigint not null,
  status text collate "C" not null,
  attempts text collate "C" not null,
  version bigint not null,
  attempt_count bigint not null,
  retry_count bigint not null,
  due_at bigint,
  resume_at bigint,
  primary key (id)
) partition by range (id);

create table replays (
  version bigint not null,
  since bigint not null,
  position bigint not null,
  events_until bigint not null,
  made bigint not null,
  started_at bigint not null,
  only_failed smallint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  status text collate "C" not null,
  until bigint,
  deliveries bigint,
  ended_at bigint,
  types text collate "C",
  primary key (id)
);

create table idempotency (
  created_at bigint not null,
  scope text collate "C" not null,
  key text collate "C" not null,
  fingerprint text collate "C" not null,
  result text collate "C" not null,
  primary key (scope, key)
);

create table usage (
  at bigint not null,
  requests bigint not null,
  rate_limited bigint not null,
  messages_sent bigint not null,
  segments bigint not null,
  messages_received bigint not null,
  webhooks_delivered bigint not null,
  webhooks_failed bigint not null,
  subject text collate "C" not null,
  primary key (subject, at)
);

create table memory (
  instance_id text collate "C" not null,
  key text collate "C" not null,
  value text collate "C" not null,
  primary key (instance_id, key)
);

create table settings (
  name text collate "C" not null,
  value text collate "C" not null,
  primary key (name)
);

create table chats (
  version bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  is_group smallint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  key text collate "C" not null,
  "from" text collate "C" not null,
  instance_id text collate "C" not null,
  channel text collate "C" not null,
  participants text collate "C" not null,
  left_at bigint,
  contact text collate "C",
  last_form text collate "C",
  reference text collate "C",
  name text collate "C",
  primary key (id)
);

create table contacts (
  version bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  search_text text collate "C" not null,
  tags text collate "C" not null,
  first_name text collate "C",
  last_name text collate "C",
  phone_number text collate "C",
  email text collate "C",
  company text collate "C",
  metadata text collate "C",
  primary key (id)
);

create table contact_addresses (
  customer_id text collate "C" not null,
  address text collate "C" not null,
  contact_id text collate "C" not null,
  primary key (customer_id, address)
);

create table payments (
  version bigint not null,
  amount_cents bigint not null,
  expires_at bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  key_id text collate "C" not null,
  message_id text collate "C" not null,
  "from" text collate "C" not null,
  "to" text collate "C" not null,
  currency text collate "C" not null,
  status text collate "C" not null,
  correlation_id text collate "C" not null,
  due_at bigint,
  paid_at bigint,
  cancelled_at bigint,
  note text collate "C",
  callback_url text collate "C",
  reason text collate "C",
  metadata text collate "C",
  paid_by text collate "C",
  primary key (id)
);

create table calls (
  version bigint not null,
  created_at bigint not null,
  updated_at bigint not null,
  is_audio smallint not null,
  is_video smallint not null,
  is_outgoing smallint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  instance_id text collate "C" not null,
  call_uuid text collate "C" not null,
  "from" text collate "C" not null,
  caller text collate "C" not null,
  "to" text collate "C" not null,
  status text collate "C" not null,
  history text collate "C" not null,
  primary key (id)
);

create table contents (
  created_at bigint not null,
  id text collate "C" not null,
  customer_id text collate "C" not null,
  message_id text collate "C" not null,
  mime_type text collate "C" not null,
  total_bytes bigint,
  filename text collate "C",
  instance_id text collate "C",
  reference text collate "C",
  data bytea,
  primary key (id)
);

create table arrivals (
  created_at bigint not null,
  instance_id text collate "C" not null,
  reference text collate "C" not null,
  primary key (instance_id, reference)
);

create table opt_outs (
  created_at bigint not null,
  customer_id text collate "C" not null,
  number text collate "C" not null,
  contact text collate "C" not null,
  scope text collate "C" not null,
  source text collate "C" not null,
  keyword text collate "C",
  primary key (number, contact)
);

create table erasures (
  position bigint not null,
  events_until bigint not null,
  requested_at bigint not null,
  contact_id text collate "C" not null,
  customer_id text collate "C" not null,
  before text collate "C" not null,
  addresses text collate "C" not null,
  completed_at bigint,
  primary key (contact_id)
);

create table sessions (
  version bigint not null,
  created_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint not null,
  id text collate "C" not null,
  kind text collate "C" not null,
  hash text collate "C" not null,
  key_id text collate "C" not null,
  primary key (id)
);

create table requests (
  position bigint generated always as identity,
  status bigint not null,
  duration_us bigint not null,
  created_at bigint not null,
  logged_at bigint not null,
  request_cut smallint not null,
  response_cut smallint not null,
  id text collate "C" not null,
  key_id text collate "C" not null,
  method text collate "C" not null,
  path text collate "C" not null,
  correlation_id text collate "C" not null,
  customer_id text collate "C",
  route text collate "C",
  error_code text collate "C",
  request text collate "C",
  response text collate "C",
  primary key (position)
);

-- Rows from before the first day that has a partition, and deliveries of no day. The service adds the days.
create table events_before partition of events for values from (minvalue) to (178309862260736);

create unique index events_before_id on events_before (id);

create table deliveries_before partition of deliveries for values from (minvalue) to ('dlv_01a19467-e800-7');

create table deliveries_default partition of deliveries default with (fillfactor = 45);

create table quarantined (
  since bigint not null,
  parked smallint not null,
  "table" text collate "C" not null,
  id text collate "C" not null,
  reason text collate "C" not null,
  customer_id text collate "C",
  primary key ("table", id)
);

create table members (
  beat_at timestamptz not null,
  lag_ms bigint not null,
  id text collate "C" not null,
  role text collate "C" not null,
  url text collate "C",
  primary key (id)
);

create table member_leases (
  epoch bigint not null,
  until timestamptz not null,
  lease text collate "C" not null,
  owner text collate "C" not null,
  state text collate "C",
  primary key (lease)
);

create table config_versions (
  version bigint not null,
  part text collate "C" not null,
  primary key (part)
);

insert into config_versions (part, version)
  values ('keys', 1), ('routing', 1), ('receivers', 1), ('optOuts', 1), ('settings', 1), ('threads', 1);

create table endpoint_versions (
  version bigint not null,
  customer_id text collate "C" not null,
  primary key (customer_id)
);

-- Unlogged: a crash empties it, and each key gets a new window.
create unlogged table rate_windows (
  taken bigint not null,
  given bigint not null,
  ends_at timestamptz not null,
  key_id text collate "C" not null,
  primary key (key_id)
) with (fillfactor = 50);

-- Deliveries that requests changed, for the Wire of other processes. Unlogged: it costs no log, and a crash empties it.
create unlogged table announced_deliveries (
  at timestamptz not null default clock_timestamp(),
  customer_id text collate "C" not null,
  ids text collate "C" not null
);

-- Each due message with its lease: `owner` holds it until `leased_until` by the clock of the database. A message stays here during its
-- send attempt, although its record has no due time: with `is_held` if it is leased, otherwise without a due time. `changed_in` is the SQL
-- transaction that last gave it its due time, lane or lease.
create table due_messages (
  id text collate "C" not null,
  lane text collate "C" not null,
  "from" text collate "C" not null,
  "to" text collate "C" not null,
  is_queued smallint not null,
  is_held smallint not null default 0,
  due_at bigint,
  lease bigint,
  leased_until timestamptz,
  owner text collate "C",
  changed_in xid8 not null default pg_current_xact_id(),
  primary key (id)
) with (fillfactor = 50);

create index due_messages_lane on due_messages (lane, due_at, id) where lease is null;

create index due_messages_timers on due_messages (lane, due_at, id) where lease is null and is_queued = 0;

create index due_messages_pair on due_messages (lane, "from", "to", due_at, id) where lease is null and is_queued = 1;

create index due_messages_leased on due_messages (lane, "from", "to", changed_in) where lease is not null;

create index due_messages_attempted on due_messages (id) where due_at is null;

-- The second condition is always true: no other statement has it, so that the planner takes this index for none of them.
create index due_messages_changed on due_messages (lane, changed_in) where lease is null and changed_in > '0'::xid8;

-- Each due delivery in the order of its lane. `changed_in` is the SQL transaction that last gave it its due time, and `put_by` the process
-- that ran it; 0: no service.
create table due_deliveries (
  row bigint not null,
  id text collate "C" not null,
  lane text collate "C" not null,
  due_at bigint not null,
  replay_id text collate "C",
  put_by integer not null default 0,
  changed_in xid8 not null default pg_current_xact_id(),
  primary key (id)
);

create index due_deliveries_lane on due_deliveries (lane, due_at, row);

create index due_deliveries_changed on due_deliveries (lane, changed_in) where changed_in > '0'::xid8;

create index due_deliveries_replay on due_deliveries (replay_id) where replay_id is not null;

-- customers by email
create index customers_email on customers (lower(email), id collate "POSIX") where email is not null;

-- a number has one customer
create unique index numbers_address on numbers (address);

-- numbers of a customer
create index numbers_customer on numbers (customer_id);

-- the key of a request
create unique index keys_hash on keys (hash);

-- keys of a customer
create index keys_customer on keys (customer_id, id collate "POSIX");

-- messages of a customer
create index messages_list on messages (customer_id, rowid);

-- messages to an address
create index messages_recipient on messages (customer_id, "to", rowid);

-- messages from an address
create index messages_sender on messages (customer_id, "from", rowid) where direction = 'inbound';

-- messages by externalMessageId
create index messages_external on messages (customer_id, external_message_id, rowid) where external_message_id is not null;

-- messages of a rare status
create index messages_rare on messages (customer_id, rare_status, rowid) where rare_status is not null;

-- messages of a thread
create index messages_chat on messages (chat_id, rowid) where chat_id is not null;

-- scheduled messages of a customer
create index messages_scheduled on messages (customer_id, waits_until, id) where waits_until is not null;

-- deleted messages whose text is still there
create index messages_erase on messages (customer_id, id) where deleted_at is not null and erased_at is null;

-- messages with an unknown outcome after a restore
create index messages_unknown on messages (id) where is_unknown = 1;

-- what instances remember of sent messages
create index send_attempts_noted on send_attempts (instance_id, started_at) where note is not null;

-- events of a message
create index events_message on events (message_id, position) where message_id is not null;

-- events of a customer without a message
create index events_loose on events (customer_id, position) where message_id is null;

-- endpoints of a customer
create index endpoints_customer on endpoints (customer_id);

-- built-in inboxes
create index endpoints_inbox on endpoints (url) where kind = 'inbox';

-- endpoints whose receiver is gone
create index endpoints_gone on endpoints (id) where gone_since is not null;

-- deliveries of a customer
create index deliveries_of_customer on deliveries (customer_id, id collate "POSIX");

-- deliveries of an event that replays made
create index deliveries_apart_event on deliveries (event_id) where substr(id, 5, 18) <> substr(event_id, 5, 18);

-- deliveries of a replay
create index deliveries_replay on deliveries (replay_id, id) where replay_id is not null;

-- an endpoint has one replay
create unique index replays_endpoint on replays (endpoint_id);

-- replays of a customer
create index replays_customer on replays (customer_id);

-- replays that go on
create index replays_running on replays (customer_id, id) where status = 'running';

-- pruning by age
create index idempotency_age on idempotency (created_at);

-- pruning by age
create index arrivals_age on arrivals (created_at);

-- pruning by age
create index contents_age on contents (created_at);

-- files of a message
create index contents_message on contents (message_id);

-- a thread by its members
create unique index chats_key on chats ("key");

-- threads of a customer
create index chats_list on chats (customer_id, id collate "POSIX");

-- groups that a number is in
create index chats_groups on chats (customer_id, "from", id collate "POSIX") where is_group = 1 and left_at is null;

-- groups whose reference is not known yet
create index chats_unnamed on chats (customer_id, "from", id) where is_group = 1 and reference is null;

-- contacts of a customer
create index contacts_list on contacts (customer_id, id collate "POSIX");

-- payment requests of a customer
create index payments_list on payments (customer_id, id collate "POSIX");

-- payment requests that expire
create index payments_due on payments (due_at, id) where due_at is not null;

-- the request that a payment is for
create index payments_pending on payments (customer_id, "from", "to", amount_cents, id collate "POSIX") where status = 'pending';

-- a call is recorded once
create unique index calls_uuid on calls (instance_id, call_uuid);

-- calls of a customer
create index calls_list on calls (customer_id, id collate "POSIX");

-- opt-outs of a customer
create index opt_outs_list on opt_outs (customer_id, created_at desc, number, contact);

-- opt-outs of a number
create index opt_outs_of_number on opt_outs (customer_id, number, created_at desc, contact);

-- opt-outs that hold for all numbers
create index opt_outs_of_customer on opt_outs (customer_id, contact) where scope = 'customer';

-- erasures that go on
create index erasures_open on erasures (requested_at) where completed_at is null;

-- the session of a request
create unique index sessions_hash on sessions (hash);

-- sessions of a key
create index sessions_key on sessions (key_id, kind);

-- pruning by age
create index sessions_end on sessions (expires_at);

-- a request by its id
create index requests_id on requests (id, position);

-- requests of a customer
create index requests_list on requests (customer_id, position);

-- errors in the log
create index requests_errors on requests (position) where error_code is not null;
