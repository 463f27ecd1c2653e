/** The tables of SQLite: the types of columns, the row order of some tables, and tables that hold no records. */

import { makeSchema } from "../schema-sql.ts";

/** The tables as they are in `0001.sql`. */
export const SQLITE_SCHEMA = makeSchema({
  types: { text: "text", json: "text", number: "integer", flag: "integer", bytes: "blob" },
  order: (columns) => columns,
  indexOf: ({ sqlite }) => sqlite,
  forms: {
    // A position is never used twice: the writer counts positions, and `deleted_position` outlives the last event.
    events: { first: ["position integer primary key"], key: "unique (id)" },
    // The id is the client's own choice, and may repeat.
    requests: { first: ["position integer primary key autoincrement"], key: null },
    // The unique index of customer and id, which lists need, is enough.
    deliveries: { key: null },
    // These tables keep rows in the order of their key, since nothing names the rows by number.
    sendAttempts: { options: "without rowid" },
    providerReferences: { options: "without rowid" },
    idempotency: { options: "without rowid" },
    memory: { options: "without rowid" },
    arrivals: { options: "without rowid" },
    chats: { options: "without rowid" },
  },
  before: "",
  after: `
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
`,
});
