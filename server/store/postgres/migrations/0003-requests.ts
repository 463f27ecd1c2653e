/** The request log, in the order of its positions, which are drawn in the order of commits (`request-rows.ts`). */

export const REQUESTS_0003 = `
  create table requests (
    position bigint generated always as identity,
    created_at bigint not null,
    logged_at bigint not null,
    duration_us bigint not null,
    status bigint not null,
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

  create index requests_id on requests (id, position);
  create index requests_list on requests (customer_id, position);
  create index requests_errors on requests (position) where error_code is not null`;
