/**
 * The queues of PostgreSQL's first migration, the quarantine, members with their leases, the versions of the configuration,
 * windows of rate limits, and sequences. `due_messages` and `due_deliveries` have a row for each record with a due time, and its lease: `owner` holds it until
 * `leased_until` by the clock of the database. A message stays in `due_messages` during its send attempt, although its record has no due
 * time: with `is_held` if it is leased, otherwise without a due time.
 */

export const QUEUES_0001 = `
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

  create unlogged table rate_windows (
    taken bigint not null,
    given bigint not null,
    ends_at timestamptz not null,
    key_id text collate "C" not null,
    primary key (key_id)
  ) with (fillfactor = 50);

  create table endpoint_versions (
    version bigint not null,
    customer_id text collate "C" not null,
    primary key (customer_id)
  );

  create sequence event_positions;

  create sequence leases;

  create sequence lease_blocks;

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
    primary key (id)
  ) with (fillfactor = 50);

  create table due_deliveries (
    row bigint not null,
    id text collate "C" not null,
    lane text collate "C" not null,
    due_at bigint not null,
    lease bigint,
    leased_until timestamptz,
    owner text collate "C",
    primary key (id)
  )`;
