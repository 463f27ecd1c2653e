/**
 * The tables of PostgreSQL: types of columns and their order, partitions by the day, generated columns, the
 * queues, members with their leases, versions of the configuration, windows of rate limits, and sequences.
 */

import { FORM_ROWS } from "../../core/phone-forms.ts";
import type { Column, ColumnKind } from "../column.ts";
import { makeSchema } from "../schema-sql.ts";

/** The first position and the first id of November 2026: a day since 1970 times 2^33, and an id as `firstIdAt` writes it. */
const FIRST_POSITION = "178309862260736";
const FIRST_ID = "dlv_01a19467-e800-7";

/** SQL for `phoneKey` of an address that may have two forms. Each address matches at most one row of the table. */
const PHONE_KEY = FORM_ROWS.filter(({ isOneSubscriber }) => isOneSubscriber).reduce(
  (address, { head, former, present, rest }) =>
    `regexp_replace(${address}, '^(${head})${former}(${rest})$', '\\1${present}\\2')`,
  "address",
);

/** PostgreSQL aligns a number to eight bytes, so numbers before texts need no padding. A null takes no space. */
const KINDS: readonly ColumnKind[] = ["number", "flag", "text", "json", "bytes"];

/** Columns that change are last, in the order of their declaration: the log has a changed row from its first changed byte on. */
function placeOf({ kind, isNullable, isHot }: Column): number {
  return isHot ? 2 * KINDS.length : KINDS.indexOf(kind) + (isNullable ? KINDS.length : 0);
}

const TEXT = 'text collate "C"';

/** The tables as they are in `0001.sql`. */
export const POSTGRES_SCHEMA = makeSchema({
  types: { text: TEXT, json: TEXT, number: "bigint", flag: "smallint", bytes: "bytea" },
  order: (columns) => columns.toSorted((one, other) => placeOf(one) - placeOf(other)),
  indexOf: ({ postgres }) => postgres,
  forms: {
    messages: {
      first: ["rowid bigint generated always as identity"],
      // The first entry of the timeline never changes, so it has its own column
      // (`split-timeline.ts`). No index has a column that changes often.
      last: [
        'timeline_start text collate "C"',
        "rare_status text collate \"C\" generated always as (case when status in ('failed', 'unsent', 'cancelled') then status end) stored",
        "waits_until bigint generated always as (case when status = 'scheduled' then scheduled_at end) stored",
        "is_unknown smallint generated always as (case when status = 'pending' and due_at is not null then 1 end) stored",
      ],
      // Four messages share a new page, which then has room for a second version of each.
      options: "with (fillfactor = 44)",
    },
    // A table that is partitioned by position cannot have a unique index of ids: each partition has one.
    events: {
      first: ["position bigint not null"],
      key: "primary key (customer_id, position)",
      options: "partition by range (position)",
    },
    deliveries: {
      first: ["rowid bigint not null default nextval('delivery_rows')"],
      options: "partition by range (id)",
    },
    requests: { first: ["position bigint generated always as identity"], key: "primary key (position)" },
  },
  before: `
create sequence delivery_rows;

create sequence event_positions;

create sequence leases;

create sequence lease_blocks;

-- One key for all forms of a phone, as the service computes it.
create function phone_key(address text) returns text language sql immutable parallel safe as $$
  select case when left(address, 3) in ('+52', '+54', '+55') or left(address, 4) in ('+225', '+229') then ${PHONE_KEY} else address end
$$;
`,
  after: `
-- Rows from before the first day that has a partition, and deliveries of no day. The service adds the days.
create table events_before partition of events for values from (minvalue) to (${FIRST_POSITION});

create unique index events_before_id on events_before (id);

create table deliveries_before partition of deliveries for values from (minvalue) to ('${FIRST_ID}');

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

-- Each due message with its lease: \`owner\` holds it until \`leased_until\` by the clock of the database. A message stays here during its
-- send attempt, although its record has no due time: with \`is_held\` if it is leased, otherwise without a due time. \`changed_in\` is the SQL
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

-- Each due delivery in the order of its lane. \`changed_in\` is the SQL transaction that last gave it its due time, and \`put_by\` the process
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
`,
});
