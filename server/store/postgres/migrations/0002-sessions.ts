/** Sessions of the console, and links that begin one. */

export const SESSIONS_0002 = `
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

  create unique index sessions_hash on sessions (hash);
  create index sessions_key on sessions (key_id, kind);
  create index sessions_end on sessions (expires_at)`;
