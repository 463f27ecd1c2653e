/** The endpoints of customers while a group is decided. They follow the changes of the group, and make the deliveries of its events. */

import { type Delivery, deliveriesOf } from "../../core/delivery.ts";
import type { Event } from "../../core/event.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Endpoint } from "../../core/webhook.ts";
import type { EncodedOperation } from "../jobs/jobs.ts";
import { columnOf, decode, decodeRecord } from "../rows.ts";
import { propertiesOf } from "./shapes.ts";

export class RoutingOfGroup {
  readonly #byCustomer: Map<CustomerId, readonly Endpoint[]>;

  constructor(endpoints: Iterable<readonly [CustomerId, readonly Endpoint[]]>) {
    this.#byCustomer = new Map(endpoints);
  }

  /** Notes an operation of an accepted transaction: events after it find the endpoints that it leaves. */
  note(operation: EncodedOperation): void {
    if (operation[1] !== "endpoints") return;
    switch (operation[0]) {
      case "insert":
      case "insertUnique":
      case "put": {
        const endpoint = decodeRecord("endpoints", operation[2]);
        this.#replace(endpoint.id, () => null);
        this.#add(endpoint);
        break;
      }
      case "update": {
        const [, , properties, values, id] = operation;
        const set = propertiesOf(properties).map((property, index) => [columnOf(property), values[index]]);
        this.#replace(id, (endpoint) => ({ ...endpoint, ...decode("endpoints", Object.fromEntries(set)) }));
        break;
      }
      case "delete": {
        const [, , where, values] = operation;
        this.#replace(String(values[propertiesOf(where).indexOf("id")]), () => null);
        break;
      }
    }
  }

  #add(endpoint: Endpoint): void {
    const own = this.#byCustomer.get(endpoint.customerId) ?? [];
    // The order of the database.
    this.#byCustomer.set(
      endpoint.customerId,
      [...own, endpoint].sort((a, b) => (a.id < b.id ? -1 : 1)),
    );
  }

  #replace(id: string, change: (endpoint: Endpoint) => Endpoint | null): void {
    for (const [customerId, endpoints] of this.#byCustomer)
      if (endpoints.some((one) => one.id === id))
        this.#byCustomer.set(
          customerId,
          endpoints.flatMap((one) => (one.id === id ? (change(one) ?? []) : one)),
        );
  }

  /** The deliveries of a new event, one for each endpoint that wants it. */
  deliveriesOf([, values, callbackUrl]: Extract<EncodedOperation, ["event", ...unknown[]]>): {
    event: Event;
    deliveries: Delivery[];
  } {
    const event = decodeRecord("events", values);
    return { event, deliveries: deliveriesOf(event, this.#byCustomer.get(event.customerId) ?? [], callbackUrl) };
  }
}
