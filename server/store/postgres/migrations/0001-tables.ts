/**
 * The tables of PostgreSQL's first migration. Numbers are `bigint`, flags `smallint`, texts and JSON `text` in code point order
 * (`collate "C"`), as in the rows of SQLite. What changes in the life of a message is at the end of its row, and no index has it, so that
 * its changes stay in their page, and are short in the log: docs/internals/postgres.md. `events` is partitioned by position and `deliveries` by id, each by the day:
 * `partitions.ts` adds the days.
 */

export const TABLES_0001 = `
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
    permissions text collate "C" not null,
    hash text collate "C" not null,
    last4 text collate "C" not null,
    last_used_at bigint,
    expires_at bigint,
    revoked_at bigint,
    customer_id text collate "C",
    rate_limit text collate "C",
    replaced_by text collate "C",
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
    key_id text collate "C",
    chat_id text collate "C",
    text text collate "C",
    effect text collate "C",
    reply_to text collate "C",
    parent_message_id text collate "C",
    payment text collate "C",
    metadata text collate "C",
    external_message_id text collate "C",
    callback_url text collate "C",
    fallback_after_ms bigint,
    scheduled_at bigint,
    edited_at bigint,
    deleted_at bigint,
    erased_at bigint,
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
    rare_status text collate "C"
      generated always as (case when status in ('failed', 'unsent', 'cancelled') then status end) stored,
    waits_until bigint generated always as (case when status = 'scheduled' then scheduled_at end) stored,
    is_unknown smallint generated always as (case when status = 'pending' and due_at is not null then 1 end) stored,
    primary key (id)
  ) with (fillfactor = 50);

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
    name text collate "C",
    secret text collate "C",
    previous_secret text collate "C",
    primary key (id)
  );

  create sequence delivery_rows;

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
    by_hand smallint not null,
    retry_requested smallint not null,
    status text collate "C" not null,
    attempts text collate "C" not null,
    version bigint not null,
    attempt_count bigint not null,
    retry_count bigint not null,
    due_at bigint,
    resume_at bigint,
    primary key (id)
  ) partition by range (id);

  create table idempotency (
    created_at bigint not null,
    scope text collate "C" not null,
    "key" text collate "C" not null,
    fingerprint text collate "C" not null,
    result text collate "C" not null,
    primary key (scope, "key")
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
    "key" text collate "C" not null,
    value text collate "C" not null,
    primary key (instance_id, "key")
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
    "key" text collate "C" not null,
    "from" text collate "C" not null,
    instance_id text collate "C" not null,
    channel text collate "C" not null,
    participants text collate "C" not null,
    left_at bigint,
    contact text collate "C",
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
    tags text collate "C" not null,
    search_text text collate "C" not null,
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
    metadata text collate "C",
    callback_url text collate "C",
    paid_by text collate "C",
    reason text collate "C",
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
    data bytea,
    instance_id text collate "C",
    reference text collate "C",
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
    source text collate "C" not null,
    keyword text collate "C",
    primary key (number, contact)
  );

  create table erasures (
    "position" bigint not null,
    events_until bigint not null,
    requested_at bigint not null,
    contact_id text collate "C" not null,
    customer_id text collate "C" not null,
    addresses text collate "C" not null,
    "before" text collate "C" not null,
    completed_at bigint,
    primary key (contact_id)
  )`;
