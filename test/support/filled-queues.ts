/** Both queues of a PostgreSQL database with many rows, made by the server: copies of a message and of a delivery. */

import type pg from "pg";
import { LAYOUT } from "../../server/store/rows.ts";
import { NOW } from "../conformance/store-stage.ts";

/** Lanes of each queue. */
export const LANES = 4;
/** Senders and recipients of the messages. */
const PAIRS = 2_000;
/** The replay of every other delivery. */
export const REPLAY = "rpl_1";

/** A lane of deliveries. */
export const laneOf = (number: number) => `wh_${number}`;

/** Messages and deliveries of which the others are copies, by their ids. */
interface Templates {
  message: string;
  delivery: string;
}

/** SQL for the number of a lane: most rows are in the first one. */
const LANE = `case when i % 20 < ${LANES} then i % 20 else 0 end`;
const DUE_AT = `${NOW} - 1000000 + i`;

/** Inserts due messages and deliveries, as many of each. They are in no queue yet. */
export async function fillRecords(pool: pg.Pool, { message, delivery }: Templates, count: number): Promise<void> {
  const copy = async (table: "messages" | "deliveries", id: string, values: Record<string, string>) => {
    const columns = LAYOUT[table].map(({ column }) => column);
    const selected = columns.map((column) => values[column] ?? `t."${column}"`).join(", ");
    await pool.query(
      `insert into ${table} (${columns.map((column) => `"${column}"`).join(", ")})
       select ${selected} from ${table} t, generate_series(1, ${count}) i where t.id = $1`,
      [id],
    );
  };
  await copy("messages", message, {
    id: "'msg_' || lpad(i::text, 26, '0')",
    instance_id: `case when ${LANE} = 0 then t.instance_id else 'inst_' || ${LANE} end`,
    to: `'+1600' || lpad((i % ${PAIRS})::text, 7, '0')`,
    status: "'queued'",
    due_at: DUE_AT,
  });
  await copy("deliveries", delivery, {
    id: "left(t.id, 16) || lpad(i::text, 16, '0')",
    lane: `'wh_' || ${LANE}`,
    endpoint_id: `'wh_' || ${LANE}`,
    replay_id: `case when i % 2 = 0 then '${REPLAY}' end`,
    due_at: DUE_AT,
  });
}

/** Puts all records with a due time into their queues. */
export async function fillQueues(pool: pg.Pool, limit: number): Promise<void> {
  await pool.query(
    `insert into due_messages (id, lane, "from", "to", due_at, is_queued)
     select id, instance_id, "from", "to", due_at, 1 from messages where due_at is not null order by due_at, id limit $1`,
    [limit],
  );
  await pool.query(
    `insert into due_deliveries (id, lane, due_at, row, replay_id)
     select id, lane, due_at, rowid, replay_id from deliveries where due_at is not null order by due_at, id limit $1`,
    [limit],
  );
}

/** Empties both queues. Their pages stay. */
export async function emptyQueues(pool: pg.Pool): Promise<void> {
  await pool.query("delete from due_messages; delete from due_deliveries");
}
