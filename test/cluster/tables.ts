/** The tables of PostgreSQL after a run: no queue has a row left, no attempt is open, and no message was sent twice. */

import assert from "node:assert/strict";
import pg from "pg";

/** Queries that find something wrong, each with its rule. */
const WRONG: Readonly<Record<string, string>> = {
  "a message is due though everything has ended": "select id from due_messages",
  "a delivery is due though everything has ended": "select id from due_deliveries",
  "a send attempt is open": "select message_id as id from send_attempts where state = 'open'",
  "a message has two accepted attempts on one channel":
    "select message_id as id from send_attempts where state = 'accepted' group by message_id, channel having count(*) > 1",
  "an event has two deliveries to one endpoint":
    "select event_id as id from deliveries group by event_id, lane, url having count(*) > 1",
};

/** Throws if a table of the database says that something is lost or doubled. */
export async function checkTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const [rule, sql] of Object.entries(WRONG)) {
      const { rows } = await client.query<{ id: string }>(sql);
      assert.deepEqual(
        rows.map(({ id }) => id),
        [],
        rule,
      );
    }
  } finally {
    await client.end();
  }
}
