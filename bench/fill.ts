/** Fills a database with waiting deliveries, in its own process: writes the file directly while no service uses it. */

import { randomBytes } from "node:crypto";
import { type Delivery, deliveryTo } from "../server/core/delivery.ts";
import type { Event } from "../server/core/event.ts";
import { createIdSource, type NewId } from "../server/core/id.ts";
import { newSigningSecret } from "../server/core/signature.ts";
import type { Endpoint } from "../server/core/webhook.ts";
import { customerSecretPlace } from "../server/engine/secret-places.ts";
import { createSealer, loadSecretKey, type Sealer } from "../server/secrets.ts";
import { answerParent } from "./child.ts";
import { deliveredMessage, fillDatabase, type Insert, pooled } from "./delivered.ts";

/**
 * A data directory that a service has created, and the deliveries to insert. With `dueUrl` all are first attempts of one
 * endpoint, due an hour ago. Else the endpoint at `hangingUrl` has half of them, and a thousand endpoints at `healthyUrl`
 * have the other half: first retries, due within a day from now.
 */
export type Filling = { dataDir: string; deliveries: number } & (
  | { dueUrl: string }
  | { hangingUrl: string; healthyUrl: string }
);

const ENDPOINTS = 1_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Responds with the number of deliveries. */
answerParent<Filling, number>((filling) => {
  let written = 0;
  fillDatabase(filling.dataDir, (insert) => {
    const filler = new Filler(filling, insert);
    return () => {
      const isMore = filler.addMessage();
      written = filler.deliveries;
      return isMore;
    };
  });
  return written;
});

class Filler {
  deliveries = 0;
  readonly #filling: Filling;
  readonly #insert: Insert;
  readonly #startedAt = Date.now();
  readonly #newId: NewId;
  readonly #endpoints: Endpoint[] = [];
  #messages = 0;
  /** In sequence from an hour ago, as if they had been accepted then. */
  #at: number;

  constructor(filling: Filling, insert: Insert) {
    this.#filling = filling;
    this.#insert = insert;
    this.#at = this.#startedAt - HOUR_MS;
    this.#newId = createIdSource(() => this.#at, pooled);
    const sealer = createSealer(loadSecretKey(filling.dataDir, null, randomBytes, null), randomBytes);
    const urls =
      "dueUrl" in filling
        ? [filling.dueUrl]
        : [filling.hangingUrl, ...Array.from({ length: ENDPOINTS }, () => filling.healthyUrl)];
    for (const url of urls) this.#endpoints.push(this.#addEndpoint(url, sealer));
  }

  /**
   * Inserts a delivered message with its three events and their deliveries; returns false once all deliveries exist.
   */
  addMessage(): boolean {
    const index = this.#messages++;
    const isFirst = "dueUrl" in this.#filling || index % 2 === 0;
    const endpoint = this.#endpoints[isFirst ? 0 : 1 + (((index - 1) / 2) % ENDPOINTS)];
    if (endpoint === undefined) throw new Error("there is no endpoint");
    this.#at = this.#startedAt - HOUR_MS + Math.floor(index / 200);
    const { message, events } = deliveredMessage(this.#newId, { customerId: endpoint.customerId, index, at: this.#at });
    this.#insert("messages", message);
    for (const event of events) {
      if (this.deliveries === this.#filling.deliveries) return false;
      this.#insert("events", event);
      this.#addDelivery(event, endpoint, isFirst);
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
    // Spread over a day, in an order unrelated to the ids.
    const dueAt = this.#startedAt + HOUR_MS + ((this.deliveries * 7_919_111) % DAY_MS);
    const attempts = [{ at: event.createdAt, status: 503, durationMs: 12, response: "", error: null }];
    this.#insert("deliveries", { ...delivery, attemptCount: 1, attempts, retryCount: 1, dueAt } satisfies Delivery);
  }

  #addEndpoint(url: string, sealer: Sealer): Endpoint {
    const customerId = this.#newId("cust");
    const version = 1;
    const previous = { previousSecret: null, previousSecretUntil: null };
    const sending = { routes: [], quietHours: null, optOuts: null };
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
      maxInFlight: null,
      secret: null,
      ...previous,
      goneSince: null,
      ...times,
    };
    this.#insert("endpoints", endpoint);
    return endpoint;
  }
}
