/**
 * Replays, and the deliveries of each: all of them by the index of records, and those that wait for an attempt by the queue. The index of
 * records has no column that an attempt changes: a delivery's second version stays in its page.
 */

export const REPLAYS_0008 = `
  create table replays (
    version bigint not null,
    since bigint not null,
    until bigint,
    position bigint not null,
    events_until bigint not null,
    deliveries bigint,
    made bigint not null,
    started_at bigint not null,
    ended_at bigint,
    only_failed smallint not null,
    id text collate "C" not null,
    customer_id text collate "C" not null,
    endpoint_id text collate "C" not null,
    status text collate "C" not null,
    types text collate "C",
    primary key (id)
  );

  create unique index replays_endpoint on replays (endpoint_id);

  create index replays_customer on replays (customer_id);

  create index replays_running on replays (customer_id, id) where status = 'running';

  alter table deliveries add column replay_id text collate "C";

  create index deliveries_replay on deliveries (replay_id, id) where replay_id is not null;

  alter table due_deliveries add column replay_id text collate "C";

  create index due_deliveries_replay on due_deliveries (replay_id) where replay_id is not null`;
