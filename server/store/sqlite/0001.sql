-- Written by `npm run schema` from server/store/tables.ts and indexes.ts, and schema.ts beside this file.

create table customers (
  id text not null,
  version integer not null,
  name text not null,
  email text,
  company text,
  secret text not null,
  previous_secret text,
  previous_secret_until integer,
  secret_known integer not null,
  routes text not null,
  quiet_hours text,
  opt_outs text,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
);

create table numbers (
  id text not null,
  customer_id text not null,
  address text not null,
  provider text not null,
  instance_id text not null,
  is_default integer not null,
  created_at integer not null,
  primary key (id)
);

create table keys (
  id text not null,
  version integer not null,
  name text not null,
  customer_id text,
  scope text not null,
  permissions text not null,
  hash text not null,
  last4 text not null,
  rate_limit text,
  created_at integer not null,
  last_used_at integer,
  expires_at integer,
  revoked_at integer,
  replaced_by text,
  primary key (id)
);

create table instances (
  id text not null,
  version integer not null,
  name text not null,
  provider text not null,
  config text,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
);

create table messages (
  id text not null,
  customer_id text not null,
  key_id text,
  direction text not null,
  "from" text not null,
  "to" text not null,
  fallback integer not null,
  fallback_after_ms integer,
  text text,
  message_type text not null,
  media_urls text not null,
  attachments text not null,
  attachments_rule text,
  chat_id text,
  effect text,
  reply_to text,
  parent_message_id text,
  mentions text not null,
  payment text,
  metadata text,
  external_message_id text,
  callback_url text,
  origin text,
  correlation_id text not null,
  scheduled_at integer,
  created_at integer not null,
  edited_at integer,
  deleted_at integer,
  erased_at integer,
  attachments_dropped integer not null,
  fallback_triggered integer not null,
  instance_id text not null,
  channel text not null,
  channels_left text not null,
  instances_tried text not null,
  sent_part text,
  error_code text,
  error_message text,
  provider_error_code text,
  encoding text,
  account text,
  provider_message_id text,
  status text not null,
  timeline text not null,
  sequence integer not null,
  version integer not null,
  send_attempts integer not null,
  retry_count integer not null,
  updated_at integer not null,
  segments integer,
  expires_at integer,
  unknown_since integer,
  due_at integer,
  claimed_until integer,
  sent_at integer,
  delivered_at integer,
  read_at integer,
  primary key (id)
);

create table send_attempts (
  instance_id text not null,
  reference text not null,
  message_id text not null,
  number integer not null,
  channel text not null,
  state text not null,
  started_at integer not null,
  ended_at integer,
  note text,
  primary key (instance_id, reference)
) without rowid;

create table provider_references (
  instance_id text not null,
  reference text not null,
  message_id text not null,
  channel text not null,
  created_at integer not null,
  primary key (instance_id, reference)
) without rowid;

create table events (
  position integer primary key,
  id text not null,
  customer_id text not null,
  type text not null,
  message_id text,
  sequence integer not null,
  correlation_id text not null,
  created_at integer not null,
  bytes text not null,
  unique (id)
);

create table endpoints (
  id text not null,
  version integer not null,
  customer_id text not null,
  kind text not null,
  name text,
  url text not null,
  events text not null,
  active integer not null,
  max_in_flight integer,
  secret text,
  previous_secret text,
  previous_secret_until integer,
  gone_since integer,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
);

create table deliveries (
  id text not null,
  customer_id text not null,
  event_id text not null,
  event_type text not null,
  message_id text,
  endpoint_id text,
  url text not null,
  lane text not null,
  sequence integer not null,
  replay_id text,
  created_at integer not null,
  by_hand integer not null,
  retries_asked integer not null,
  status text not null,
  attempts text not null,
  version integer not null,
  attempt_count integer not null,
  retry_count integer not null,
  due_at integer,
  resume_at integer
);

create table replays (
  id text not null,
  version integer not null,
  customer_id text not null,
  endpoint_id text not null,
  status text not null,
  since integer not null,
  until integer,
  types text,
  only_failed integer not null,
  position integer not null,
  events_until integer not null,
  deliveries integer,
  made integer not null,
  started_at integer not null,
  ended_at integer,
  primary key (id)
);

create table idempotency (
  scope text not null,
  key text not null,
  fingerprint text not null,
  result text not null,
  created_at integer not null,
  primary key (scope, key)
) without rowid;

create table usage (
  subject text not null,
  at integer not null,
  requests integer not null,
  rate_limited integer not null,
  messages_sent integer not null,
  segments integer not null,
  messages_received integer not null,
  webhooks_delivered integer not null,
  webhooks_failed integer not null,
  primary key (subject, at)
);

create table memory (
  instance_id text not null,
  key text not null,
  value text not null,
  primary key (instance_id, key)
) without rowid;

create table settings (
  name text not null,
  value text not null,
  primary key (name)
);

create table chats (
  id text not null,
  version integer not null,
  customer_id text not null,
  key text not null,
  is_group integer not null,
  "from" text not null,
  contact text,
  last_form text,
  instance_id text not null,
  reference text,
  channel text not null,
  name text,
  participants text not null,
  left_at integer,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
) without rowid;

create table contacts (
  id text not null,
  version integer not null,
  customer_id text not null,
  first_name text,
  last_name text,
  phone_number text,
  email text,
  company text,
  tags text not null,
  metadata text,
  search_text text not null,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
);

create table contact_addresses (
  customer_id text not null,
  address text not null,
  contact_id text not null,
  primary key (customer_id, address)
);

create table payments (
  id text not null,
  version integer not null,
  customer_id text not null,
  key_id text not null,
  message_id text not null,
  "from" text not null,
  "to" text not null,
  amount_cents integer not null,
  currency text not null,
  note text,
  status text not null,
  metadata text,
  callback_url text,
  correlation_id text not null,
  paid_by text,
  reason text,
  expires_at integer not null,
  due_at integer,
  paid_at integer,
  cancelled_at integer,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
);

create table calls (
  id text not null,
  version integer not null,
  customer_id text not null,
  instance_id text not null,
  call_uuid text not null,
  "from" text not null,
  caller text not null,
  "to" text not null,
  is_audio integer not null,
  is_video integer not null,
  is_outgoing integer not null,
  status text not null,
  history text not null,
  created_at integer not null,
  updated_at integer not null,
  primary key (id)
);

create table contents (
  id text not null,
  customer_id text not null,
  message_id text not null,
  mime_type text not null,
  filename text,
  total_bytes integer,
  data blob,
  instance_id text,
  reference text,
  created_at integer not null,
  primary key (id)
);

create table arrivals (
  instance_id text not null,
  reference text not null,
  created_at integer not null,
  primary key (instance_id, reference)
) without rowid;

create table opt_outs (
  customer_id text not null,
  number text not null,
  contact text not null,
  scope text not null,
  source text not null,
  keyword text,
  created_at integer not null,
  primary key (number, contact)
);

create table erasures (
  contact_id text not null,
  customer_id text not null,
  addresses text not null,
  before text not null,
  position integer not null,
  events_until integer not null,
  requested_at integer not null,
  completed_at integer,
  primary key (contact_id)
);

create table sessions (
  id text not null,
  version integer not null,
  kind text not null,
  hash text not null,
  key_id text not null,
  created_at integer not null,
  expires_at integer not null,
  last_used_at integer not null,
  primary key (id)
);

create table requests (
  position integer primary key autoincrement,
  id text not null,
  customer_id text,
  key_id text not null,
  method text not null,
  path text not null,
  route text,
  status integer not null,
  duration_us integer not null,
  correlation_id text not null,
  error_code text,
  created_at integer not null,
  logged_at integer not null,
  request_cut integer not null,
  response_cut integer not null,
  request text,
  response text
);

create table quarantined (
  "table" text not null,
  id text not null,
  customer_id text,
  reason text not null,
  since integer not null,
  parked integer not null,
  primary key ("table", id)
) without rowid;

create table deleted_position (last integer not null);

insert into deleted_position values (0);

create trigger events_newest before delete on events when old.position = (select max(position) from events) begin
  update deleted_position set last = max(last, old.position);
end;

-- customers by email
create index customers_email on customers (lower(email), id) where email is not null;

-- a number has one customer
create unique index numbers_address on numbers (address);

-- numbers of a customer
create index numbers_customer on numbers (customer_id);

-- the key of a request
create unique index keys_hash on keys (hash);

-- keys of a customer
create index keys_customer on keys (customer_id, id);

-- messages of a customer
create index messages_list on messages (substr(customer_id, -8));

-- messages to an address
create index messages_recipient on messages (substr(customer_id, -8), "to");

-- messages from an address
create index messages_sender on messages (substr(customer_id, -8), "from") where direction = 'inbound';

-- messages by externalMessageId
create index messages_external on messages (substr(customer_id, -8), external_message_id) where external_message_id is not null;

-- messages of a rare status
create index messages_rare on messages (substr(customer_id, -8), status) where status in ('failed', 'unsent', 'cancelled');

-- messages of a thread
create index messages_chat on messages (chat_id) where chat_id is not null;

-- scheduled messages of a customer
create index messages_scheduled on messages (customer_id, scheduled_at, id) where status = 'scheduled';

-- deleted messages whose text is still there
create index messages_erase on messages (deleted_at) where deleted_at is not null and erased_at is null;

-- messages with an unknown outcome after a restore
create index messages_unknown on messages (id) where status = 'pending' and due_at is not null;

-- due messages of a lane
create index messages_due on messages (instance_id, due_at, id) where due_at is not null;

-- due timers of a lane behind many queued messages
create index messages_due_beside on messages (instance_id, due_at, id) where due_at is not null and status <> 'queued';

-- due messages of a pair
create index messages_pair on messages (instance_id, "from", "to", due_at, id) where due_at is not null;

-- messages that are being sent
create index messages_claimed on messages (instance_id, claimed_until) where claimed_until is not null;

-- what instances remember of sent messages
create index send_attempts_noted on send_attempts (instance_id, started_at) where note is not null;

-- events of a customer
create index events_list on events (substr(customer_id, -8));

-- events of a message
create index events_message on events (message_id) where message_id is not null;

-- events of a customer without a message
create index events_loose on events (customer_id, position) where message_id is null;

-- endpoints of a customer
create index endpoints_customer on endpoints (customer_id);

-- built-in inboxes
create index endpoints_inbox on endpoints (url) where kind = 'inbox';

-- endpoints whose receiver is gone
create index endpoints_gone on endpoints (id) where gone_since is not null;

-- a delivery by its id, and deliveries of a customer
create unique index deliveries_list on deliveries (substr(customer_id, -8), id);

-- due deliveries of a lane
create index deliveries_due on deliveries (lane, due_at) where due_at is not null;

-- a delivery of a replay by its id
create index deliveries_apart on deliveries (id) where substr(id, 5, 18) <> substr(event_id, 5, 18);

-- deliveries of an event that replays made
create index deliveries_apart_event on deliveries (event_id) where substr(id, 5, 18) <> substr(event_id, 5, 18);

-- deliveries of a replay
create index deliveries_replay on deliveries (replay_id, id) where replay_id is not null;

-- deliveries of a replay that wait
create index deliveries_replay_due on deliveries (replay_id) where replay_id is not null and due_at is not null;

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
create index chats_list on chats (customer_id, id);

-- groups that a number is in
create index chats_groups on chats (customer_id, "from", id) where is_group = 1 and left_at is null;

-- groups whose reference is not known yet
create index chats_unnamed on chats (customer_id, "from", id) where is_group = 1 and reference is null;

-- contacts of a customer
create index contacts_list on contacts (customer_id, id);

-- payment requests of a customer
create index payments_list on payments (customer_id, id);

-- payment requests that expire
create index payments_due on payments (due_at, id) where due_at is not null;

-- the request that a payment is for
create index payments_pending on payments (customer_id, "from", "to", amount_cents, id) where status = 'pending';

-- a call is recorded once
create unique index calls_uuid on calls (instance_id, call_uuid);

-- calls of a customer
create index calls_list on calls (customer_id, id);

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
create index requests_id on requests (id);

-- requests of a customer
create index requests_list on requests (customer_id);

-- errors in the log
create index requests_errors on requests (position) where error_code is not null;
