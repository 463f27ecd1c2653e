/** Fills a database with deliveries that wait, a process of its own: writes the file directly, while no service has it. */

import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { type Delivery, deliveryTo } from "../server/core/delivery.ts";
import type { Event } from "../server/core/event.ts";
import { type CustomerId, createIdSource, type InstanceId, type NewId } from "../server/core/id.ts";
import { type Message, NEW_MESSAGE } from "../server/core/message.ts";
import { begin, climb, handOver } from "../server/core/message-lifecycle.ts";
import { newSigningSecret } from "../server/core/signature.ts";
import type { Endpoint } from "../server/core/webhook.ts";
import { customerSecretPlace } from "../server/engine/secret-places.ts";
import { createSealer, loadSecretKey, type Sealer } from "../server/secrets.ts";
import type { Records, TableName } from "../server/store/schema.ts";
import { openWriter } from "../server/store/sqlite/connection.ts";
import { Statements } from "../server/store/sqlite/statements.ts";
import { encodeRecord } from "../server/store/sqlite/steps.ts";
import { answerParent } from "./child.ts";
import { recipientOf } from "./request.ts";

/** A data directory that a service has started on once, and what to put there. */
export interface Filling {
  dataDir: string;
  waiting: number;
  /** One endpoint has half of the deliveries, first attempts due an hour ago. */
  hangingUrl: string;
  /** A thousand have the other half, first retries due within a day from now. */
  healthyUrl: string;
}

const ENDPOINTS = 1_000;
const EVENTS_PER_MESSAGE = 3;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Stands in the timeline of each message, as long as the product would write it. */
const WAY = `imessage first by preference, by inst_${"0".repeat(36)}, where the number is`;
const MESSAGES_PER_TRANSACTION = 2_000;

/** Answers how many deliveries there are. */
answerParent<Filling, number>((filling) => {
  const database = openWriter(join(filling.dataDir, "tightbeam.db"));
  // Only while it is filled: the service opens it with its own settings, and finds the indexes made again.
  database.exec("pragma synchronous = off; pragma cache_size = -262144;");
  const indexes = database
    .prepare("select name, sql from sqlite_master where type = 'index' and sql is not null")
    .all();
  for (const { name } of indexes) database.exec(`drop index "${name}"`);
  const statements = new Statements(database);
  const filler = new Filler(filling, (table, record) => {
    statements.insert(table).run(...encodeRecord(table, record));
  });
  for (let done = false; !done; ) {
    database.exec("begin");
    for (let index = 0; index < MESSAGES_PER_TRANSACTION && !done; index += 1) done = !filler.addMessage();
    database.exec("commit");
  }
  for (const { sql } of indexes) database.exec(String(sql));
  database.exec("pragma wal_checkpoint(truncate)");
  database.close();
  return filler.deliveries;
});

const POOL = randomBytes(1 << 20);
let drawn = 0;

/** Random enough for ids that are only to differ, and much faster than the kernel's a few at a time. */
function pooled(size: number): Uint8Array {
  drawn = (drawn + size + 1) % (POOL.length - size);
  return POOL.subarray(drawn, drawn + size);
}

type Insert = <Name extends TableName>(table: Name, record: Records[Name]) => void;

class Filler {
  deliveries = 0;
  readonly #filling: Filling;
  readonly #insert: Insert;
  readonly #startedAt = Date.now();
  readonly #newId: NewId;
  readonly #endpoints: Endpoint[] = [];
  #messages = 0;
  /** One after the other from an hour ago, as if they had come in then. */
  #at: number;

  constructor(filling: Filling, insert: Insert) {
    this.#filling = filling;
    this.#insert = insert;
    this.#at = this.#startedAt - HOUR_MS;
    this.#newId = createIdSource(() => this.#at, pooled);
    const sealer = createSealer(loadSecretKey(filling.dataDir, null, randomBytes, null), randomBytes);
    for (let index = 0; index <= ENDPOINTS; index += 1) {
      this.#endpoints.push(this.#addEndpoint(index === 0 ? filling.hangingUrl : filling.healthyUrl, sealer));
    }
  }

  /** A delivered message with its three events and their deliveries; false when all deliveries are there. */
  addMessage(): boolean {
    const index = this.#messages++;
    const toHanging = index % 2 === 0;
    const endpoint = this.#endpoints[toHanging ? 0 : 1 + (((index - 1) / 2) % ENDPOINTS)];
    if (endpoint === undefined) throw new Error("there is no endpoint");
    this.#at = this.#startedAt - HOUR_MS + Math.floor(index / 200);
    const { message, events } = this.#deliveredMessage(endpoint.customerId, index);
    this.#insert("messages", message);
    for (const event of events) {
      if (this.deliveries === this.#filling.waiting) return false;
      this.#insert("events", event);
      this.#addDelivery(event, endpoint, toHanging);
    }
    return true;
  }

  #addDelivery(event: Event, endpoint: Endpoint, isFirst: boolean): void {
    const delivery = deliveryTo(event, endpoint, event.createdAt);
    this.deliveries += 1;
    if (isFirst) {
      this.#insert("deliveries", delivery);
      return;
    }
    // Spread over a day, in no order that the ids have.
    const dueAt = this.#startedAt + HOUR_MS + ((this.deliveries * 7_919_111) % DAY_MS);
    const retried: Delivery = { ...delivery, attemptCount: 1, retryCount: 1, dueAt };
    this.#insert("deliveries", retried);
    this.#insert("attempts", {
      deliveryId: delivery.id,
      number: 1,
      at: event.createdAt,
      status: 503,
      durationMs: 12,
      response: "",
      error: null,
    });
  }

  #deliveredMessage(customerId: CustomerId, index: number): { message: Message; events: Event[] } {
    const eventId = () => this.#newId("evt");
    const context = { now: this.#at, eventId, link: (token: string) => token, smartEncoding: false };
    const begun = begin(this.#newMessage(customerId, index), WAY, context);
    const handed = handOver(begun.message, null, context);
    const climbed = handed === null ? null : climb(handed.message, "delivered", context);
    if (climbed === null) throw new Error("the message does not get delivered");
    return { message: climbed.message, events: [...begun.events, ...climbed.events].slice(0, EVENTS_PER_MESSAGE) };
  }

  #newMessage(customerId: CustomerId, index: number): Message {
    return {
      ...UNTOUCHED,
      id: this.#newId("msg"),
      customerId,
      to: recipientOf(index, "many"),
      text: `Your order ${index} has left our warehouse and arrives tomorrow between 9 and 12.`,
      metadata: { order: `A-${index}`, campaign: "autumn" },
      externalMessageId: `waiting-${index}`,
      correlationId: `cor_${Buffer.from(pooled(16)).toString("hex")}`,
      createdAt: this.#at,
      updatedAt: this.#at,
    };
  }

  #addEndpoint(url: string, sealer: Sealer): Endpoint {
    const customerId = this.#newId("cust");
    const version = 1;
    const previous = { previousSecret: null, previousSecretUntil: null };
    const sending = { routes: [], quietHours: null };
    const times = { createdAt: this.#at, updatedAt: this.#at };
    const secret = sealer.seal(newSigningSecret(randomBytes), customerSecretPlace(customerId));
    const customer = { id: customerId, name: "Waiting", email: null, company: null, secretKnown: true };
    this.#insert("customers", { ...customer, version, secret, ...previous, ...sending, ...times });
    const endpoint: Endpoint = {
      id: this.#newId("wh"),
      version,
      customerId,
      kind: "primary",
      name: null,
      url,
      events: ["*"],
      active: true,
      secret: null,
      ...previous,
      ...times,
    };
    this.#insert("endpoints", endpoint);
    return endpoint;
  }
}

const UNTOUCHED = {
  ...NEW_MESSAGE,
  keyId: null,
  from: "+15005550002",
  channel: "imessage",
  channelsLeft: ["sms"],
  fallback: true,
  fallbackAfterMs: null,
  callbackUrl: null,
  instanceId: "inst_019aa000-0000-7000-8000-000000000000" as InstanceId,
  dueAt: null,
  expiresAt: null,
  scheduledAt: null,
} satisfies Partial<Message>;
