/** Fills a database with delivered messages of its first customer, a process of its own. */

import { join } from "node:path";
import { type CustomerId, createIdSource } from "../server/core/id.ts";
import { openReader } from "../server/store/sqlite/connection.ts";
import { answerParent } from "./child.ts";
import { deliveredMessage, fillDatabase, pooled } from "./delivered.ts";

/** A data directory that a service has created, and the number of messages to insert. */
export interface MessageFilling {
  dataDir: string;
  messages: number;
}

const DAY_MS = 86_400_000;

/** Responds with the number of messages. */
answerParent<MessageFilling, number>(({ dataDir, messages }) => {
  const customerId = firstCustomer(dataDir);
  const startedAt = Date.now() - DAY_MS;
  let at = startedAt;
  let index = 0;
  const newId = createIdSource(() => at, pooled);
  fillDatabase(dataDir, (insert) => () => {
    at = startedAt + Math.floor(index / 10);
    insert("messages", deliveredMessage(newId, { customerId, index, at }).message);
    index += 1;
    return index < messages;
  });
  return index;
});

function firstCustomer(dataDir: string): CustomerId {
  const database = openReader(join(dataDir, "tightbeam.db"));
  const row = database.prepare("select id from customers order by id limit 1").get();
  database.close();
  return row?.id as CustomerId;
}
