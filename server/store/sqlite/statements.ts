/** The SQL statements of the writer, generated from the tables or written by hand, each prepared once. */

import type { DatabaseSync, StatementSync } from "node:sqlite";
import { deliveriesOf, deliveryById, hasOpenDelivery } from "../deliveries-of-event.ts";
import { FINISHED_COLUMNS } from "../jobs/jobs.ts";
import type { TableName } from "../records.ts";
import { columnOf, LAYOUT } from "../rows.ts";
import { isOfCustomer } from "../rows-of-customer.ts";
import { TABLES } from "../tables.ts";
import {
  DELETE_OLD_NOTES,
  DELETE_OLD_UNNAMED,
  DELETE_UNNAMED,
  deleteReferences,
  type ReferenceTable,
  referenceAfter,
} from "./reference-removal.ts";
import { CHANGE_REQUESTS } from "./request-changes.ts";
import { USAGE } from "./usage-statements.ts";

const quote = (property: string) => `"${columnOf(property)}"`;
const columnsOf = (table: TableName, alias = "") => LAYOUT[table].map(({ column }) => `${alias}"${column}"`).join(", ");
const matching = (properties: readonly string[]) =>
  properties.map((property) => `${quote(property)} = ?`).join(" and ");

/** The condition for the row with an id. A delivery is found through the event that its id names. */
function byId(table: TableName, id: string): string {
  return table === "deliveries" ? `rowid in (${deliveryById(id)})` : `id = ${id}`;
}

/**
 * A bound limit as a sum. SQLite plans by a bare bound limit, and prepares the statement again whenever its value
 * changes, which was most of the cost of a claim. A sum prevents that.
 */
const LIMIT = "limit ? + 0";

/** Deliveries that wait for an attempt: all of a lane, or those of a replay that were not tried since the replay. */
const WAITING = {
  lane: "select id, rowid from deliveries where due_at is not null and lane = ? limit ?",
  untried: `select id, rowid from deliveries where due_at is not null and replay_id = ?
    and status = 'pending' and retry_count = 0 limit ?`,
};
/** The columns of a `PlaceRow`: id, sender, recipient, due time, and 1 if the message is due for a lookup. */
const PLACE = `id, "from", "to", due_at, status = 'pending'`;

/** A due delivery with its event: row number, bytes, correlation id, then its columns. */
const DUE_DELIVERY = `select d.rowid, e.bytes, e.correlation_id, ${columnsOf("deliveries", "d.")}
  from deliveries d left join events e on e.id = d.event_id where d.lane = ? and d.due_at is not null`;

/** Prepared statements of one connection. Rows come as arrays, in the order of the table's columns. */
export class Statements {
  readonly #database: DatabaseSync;
  readonly #prepared = new Map<string, StatementSync>();
  readonly #used: () => void;

  /** `used` is called each time that a caller gets a statement, which is once for each execution. */
  constructor(database: DatabaseSync, used: () => void = () => {}) {
    this.#database = database;
    this.#used = used;
  }

  /** The statement named `name`, prepared at its first use. */
  #get(name: string, write: () => string): StatementSync {
    this.#used();
    const prepared = this.#prepared.get(name);
    if (prepared !== undefined) return prepared;
    const statement = this.#database.prepare(write());
    statement.setReturnArrays(true);
    this.#prepared.set(name, statement);
    return statement;
  }

  insert(table: TableName): StatementSync {
    return this.#get(`insert ${table}`, () => {
      const placeholders = LAYOUT[table].map(() => "?").join(", ");
      return `insert into ${TABLES[table].name} (${columnsOf(table)}) values (${placeholders})`;
    });
  }

  put(table: TableName): StatementSync {
    return this.#get(`put ${table}`, () => {
      const { name, key } = TABLES[table];
      const placeholders = LAYOUT[table].map(() => "?").join(", ");
      const sets = LAYOUT[table].map(({ column }) => `"${column}" = excluded."${column}"`).join(", ");
      const onConflict = `on conflict (${key.map((property) => quote(property)).join(", ")}) do update set ${sets}`;
      return `insert into ${name} (${columnsOf(table)}) values (${placeholders}) ${onConflict}`;
    });
  }

  /** Whether a record with these unique properties exists, in the order of the columns. */
  exists(table: TableName): StatementSync {
    return this.#get(`exists ${table}`, () => {
      const { name, unique } = TABLES[table];
      if (table === "deliveries") return `select 1 from ${name} where id = ?1 and ${isOfCustomer("", "?2")}`;
      const inOrder = LAYOUT[table].map(({ property }) => property).filter((one) => unique.some((key) => key === one));
      return `select 1 from ${name} where ${matching(inOrder)}`;
    });
  }

  /** Whether a record with these properties exists. */
  found(table: TableName, properties: string): StatementSync {
    const write = () => `select 1 from ${TABLES[table].name} where ${matching(properties.split(","))} limit 1`;
    return this.#get(`found ${table} ${properties}`, write);
  }

  version(table: TableName): StatementSync {
    return this.#get(`version ${table}`, () => `select version from ${TABLES[table].name} where ${byId(table, "?1")}`);
  }

  update(table: TableName, properties: string): StatementSync {
    return this.#get(`update ${table} ${properties}`, () => {
      const sets = properties === "" ? [] : properties.split(",").map((property) => `${quote(property)} = ?`);
      return `update ${TABLES[table].name} set ${[...sets, "version = version + 1"].join(", ")} where ${byId(table, `?${sets.length + 1}`)}`;
    });
  }

  set(table: TableName, properties: string, where: string): StatementSync {
    return this.#get(`set ${table} ${properties} ${where}`, () => {
      const sets = properties.split(",").map((property) => `${quote(property)} = ?`);
      return `update ${TABLES[table].name} set ${sets.join(", ")} where ${matching(where.split(","))}`;
    });
  }

  delete(table: TableName, properties: string): StatementSync {
    const where = properties === "id" ? byId(table, "?1") : matching(properties.split(","));
    const write = () => `delete from ${TABLES[table].name} where ${where}`;
    return this.#get(`delete ${table} ${properties}`, write);
  }

  /** Due messages of a lane after a place in its order: `PLACE`. */
  messagesDueAfter(): StatementSync {
    return this.#get(
      "messagesDueAfter",
      () => `select ${PLACE} from messages where instance_id = ? and due_at is not null
             and (due_at, id) > (?, ?) and due_at <= ? order by due_at, id ${LIMIT}`,
    );
  }

  /** Messages of a lane with a due timer, which are not `queued`, after a place in the order of the lane: `PLACE`. */
  dueTimers(): StatementSync {
    return this.#get(
      "dueTimers",
      () => `select ${PLACE} from messages where instance_id = ? and due_at is not null
             and (due_at, id) > (?, ?) and due_at <= ? and status <> 'queued' order by due_at, id ${LIMIT}`,
    );
  }

  /** One message of a lane, if it is due: `PLACE`. */
  dueMessage(): StatementSync {
    return this.#get(
      "dueMessage",
      () => `select ${PLACE} from messages where id = ? and instance_id = ? and due_at is not null and due_at <= ?`,
    );
  }

  message(): StatementSync {
    return this.#get("message", () => `select ${columnsOf("messages")} from messages where id = ?`);
  }

  /** Place of a message in the order of its lane: lane, then `PLACE`. */
  placeOfMessage(): StatementSync {
    return this.#get("placeOfMessage", () => `select instance_id, ${PLACE} from messages where id = ?`);
  }

  /** The next pair of sender and recipient in a lane with a scheduled or due message, and when its first one is due. */
  nextPair(): StatementSync {
    return this.#get(
      "nextPair",
      () => `select "from", "to", min(due_at, ${Number.MAX_SAFE_INTEGER}) from messages
             where instance_id = ? and ("from", "to") > (?, ?)
             and due_at is not null order by "from", "to", due_at, id limit 1`,
    );
  }

  /** Due messages of a sender and a form of the recipient's address in a lane: `PLACE`. */
  dueOfPair(): StatementSync {
    return this.#get(
      "dueOfPair",
      () => `select ${PLACE} from messages where instance_id = ? and "from" = ? and "to" = ? and due_at is not null
             and due_at <= ? order by due_at, id ${LIMIT}`,
    );
  }

  /** Deliveries of a lane due at one time and inserted after a row, with their events. */
  deliveriesDueAt(): StatementSync {
    return this.#get(
      "deliveriesDueAt",
      () => `${DUE_DELIVERY} and d.due_at = ? and d.rowid > ? order by d.due_at, d.rowid ${LIMIT}`,
    );
  }

  /** Deliveries of a lane due after one time and not after another, with their events. */
  deliveriesDueAfter(): StatementSync {
    return this.#get(
      "deliveriesDueAfter",
      () => `${DUE_DELIVERY} and d.due_at > ? and d.due_at <= ? order by d.due_at, d.rowid ${LIMIT}`,
    );
  }

  delivery(): StatementSync {
    return this.#get(
      "delivery",
      () => `select ${columnsOf("deliveries")} from deliveries where ${byId("deliveries", "?1")}`,
    );
  }

  /** Place of a delivery in its queue: lane, due time, row number. */
  placeOfDelivery(): StatementSync {
    return this.#get(
      "placeOfDelivery",
      () => `select lane, due_at, rowid from deliveries where ${byId("deliveries", "?1")}`,
    );
  }

  /** Writes the outcome of an attempt, if the delivery still has the version that the outcome was decided on. */
  finishDelivery(): StatementSync {
    return this.#get("finishDelivery", () => {
      const sets = FINISHED_COLUMNS.map((property) => `${quote(property)} = ?`).join(", ");
      return `update deliveries set ${sets}, version = version + 1 where rowid = ? and id = ? and version = ?`;
    });
  }

  /** Inserts an event. Its position is the first parameter, before the columns. */
  insertEvent(): StatementSync {
    return this.#get("insertEvent", () => {
      const placeholders = LAYOUT.events.map(() => "?").join(", ");
      return `insert into events (position, ${columnsOf("events")}) values (?, ${placeholders})`;
    });
  }

  /** The greatest position that an event ever had. */
  lastPosition(): StatementSync {
    return this.#get(
      "lastPosition",
      () => `select max(last, coalesce((select max(position) from events), 0)) from deleted_position`,
    );
  }

  rewriteEvent(): StatementSync {
    return this.#get("rewriteEvent", () => "update events set bytes = ? where id = ?");
  }

  /** Erases responses, which may quote the event. The new version keeps attempts in flight from writing them back. */
  eraseResponses(): StatementSync {
    return this.#get(
      "eraseResponses",
      () => `update deliveries set version = version + 1, attempts = (
               select json_group_array(json(case type
                 when 'array' then json_set(value, '$[3]', null) else value end))
               from json_each(attempts))
             where rowid in (${deliveriesOf("?1")}) and attempts <> '[]'`,
    );
  }

  endpointsOf(): StatementSync {
    return this.#get(
      "endpointsOf",
      () => `select ${columnsOf("endpoints")} from endpoints where customer_id = ? order by id`,
    );
  }

  /** Ends leases of messages. A `queued` message keeps its place in the queue. */
  releaseLeases(): StatementSync {
    const now = "(select now from given)";
    const due = `case status when 'queued' then min(coalesce(scheduled_at, created_at), ${now}) else ${now} end`;
    return this.#get(
      "releaseLeases",
      () => `with given (now) as (values (?))
             update messages set due_at = ${due}, claimed_until = null, version = version + 1
             where claimed_until is not null and claimed_until < ? returning id`,
    );
  }

  activeEndpoint(): StatementSync {
    return this.#get("activeEndpoint", () => "select 1 from endpoints where id = ? and active = 1");
  }

  /** Ids and row numbers of deliveries that wait for an attempt. */
  waiting(of: keyof typeof WAITING): StatementSync {
    return this.#get(`waiting ${of}`, () => WAITING[of]);
  }

  /** Cancels a delivery. A delivery that is not `pending` keeps its status. */
  cancelDelivery(): StatementSync {
    return this.#get(
      "cancelDelivery",
      () => `update deliveries set status = case status when 'pending' then 'cancelled' else status end, due_at = null,
               by_hand = 0, resume_at = null, version = version + 1 where rowid = ?`,
    );
  }

  /** Events older than an id without an open delivery. */
  oldEvents(): StatementSync {
    return this.#get(
      "oldEvents",
      () => `select id from events e where id < ? and not ${hasOpenDelivery("e")} order by id limit ?`,
    );
  }

  deleteDeliveriesOf(): StatementSync {
    return this.#get("deleteDeliveriesOf", () => `delete from deliveries where rowid in (${deliveriesOf("?1")})`);
  }

  deleteOldIdempotency(): StatementSync {
    return this.#get(
      "deleteOldIdempotency",
      () => `delete from idempotency where (scope, "key") in (
               select scope, "key" from idempotency where created_at < ? limit ?)`,
    );
  }

  /** Some deliveries of a customer: id, row number. */
  someDeliveriesOf(): StatementSync {
    return this.#get(
      "someDeliveriesOf",
      () => `select id, rowid from deliveries where ${isOfCustomer("", "?1")} limit ?2`,
    );
  }

  deleteDelivery(): StatementSync {
    return this.#get("deleteDelivery", () => "delete from deliveries where rowid = ?");
  }

  /** Some messages of a customer: id, instance, and the provider's reference. */
  someMessagesOf(): StatementSync {
    return this.#get(
      "someMessagesOf",
      () =>
        `select id, instance_id, coalesce(provider_message_id, '') from messages where ${isOfCustomer("", "?1")} limit ?2`,
    );
  }

  /** Selects the key of a reference after this key. The last parameter says how many references to skip. */
  referenceAfter(table: ReferenceTable): StatementSync {
    return this.#get(`referenceAfter ${table}`, () => referenceAfter(TABLES[table].name));
  }

  /** Deletes the references of a customer's messages between two keys. */
  deleteReferencesOf(table: ReferenceTable): StatementSync {
    return this.#get(`deleteReferencesOf ${table}`, () => deleteReferences(TABLES[table].name));
  }

  /** Deletes attempts of a message that its provider has not named: see `openReference`. */
  deleteUnnamedAttempts(): StatementSync {
    return this.#get("deleteUnnamedAttempts", () => DELETE_UNNAMED);
  }

  /** Deletes old noted attempts that the provider never named, except those of messages that are being sent. */
  deleteOldUnnamedAttempts(): StatementSync {
    return this.#get("deleteOldUnnamedAttempts", () => DELETE_OLD_UNNAMED);
  }

  /** Deletes old notes about attempts that the provider has named. The attempts stay. */
  deleteOldNotes(): StatementSync {
    return this.#get("deleteOldNotes", () => DELETE_OLD_NOTES);
  }

  /** Deletes some of the records whose `property` has a value. */
  deleteSome(table: TableName, property: string): StatementSync {
    const { name, key } = TABLES[table];
    const keys = key.map((one) => quote(one)).join(", ");
    const where = table === "events" ? isOfCustomer("", "?1") : `${quote(property)} = ?1`;
    return this.#get(
      `deleteSome ${table}`,
      () => `delete from ${name} where (${keys}) in (select ${keys} from ${name} where ${where} limit ?2)`,
    );
  }

  /** Deletes old files that no event mentions and no unsent message needs. */
  deleteOldContents(): StatementSync {
    return this.#get(
      "deleteOldContents",
      () => `delete from contents where rowid in (select c.rowid from contents c where created_at < ?
             and not exists (select 1 from events e where e.message_id = c.message_id)
             and not exists (select 1 from messages m where m.id = c.message_id
               and m.status in ('scheduled', 'queued', 'pending')) limit ?)`,
    );
  }

  deleteOldArrivals(): StatementSync {
    return this.#get(
      "deleteOldArrivals",
      () => `delete from arrivals where (instance_id, reference) in (
               select instance_id, reference from arrivals where created_at < ? limit ?)`,
    );
  }

  /** Sets whether SQLite also overwrites the pages that a change frees, which costs a write for each. */
  overwriteFreed(isOn: boolean): void {
    this.#database.exec(`pragma secure_delete = ${isOn ? "on" : "fast"}`);
  }

  changeRequests(how: keyof typeof CHANGE_REQUESTS): StatementSync {
    return this.#get(`changeRequests ${how}`, () => CHANGE_REQUESTS[how]);
  }

  addUsage(what: keyof typeof USAGE): StatementSync {
    return this.#get(`addUsage ${what}`, () => USAGE[what]);
  }
}
