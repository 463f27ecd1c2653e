/** The types that a user of the client gets, checked by the compiler: an assertion that does not hold does not compile. */

import { test } from "node:test";
import type { Tightbeam } from "./client.ts";
import { type WebhookHandlers, webhookHandler } from "./receiver.ts";
import type { verifyWebhook } from "./signature.ts";
import type {
  CallEventData,
  EVENT_TYPES,
  Event,
  EventData,
  EventType,
  InboundEventData,
  MessageEventData,
  WebhookTestData,
} from "./wire.ts";

/** `true` if the two types are the same type, and `false` if one is only assignable to the other. */
type Same<One, Other> =
  (<Any>() => Any extends One ? 1 : 2) extends <Any>() => Any extends Other ? 1 : 2 ? true : false;

/** Compiles only if the type argument is `true`. */
function holds<Assertion extends true>(): Assertion | undefined {
  return undefined;
}

type Items<List> = List extends AsyncIterable<infer Item> ? Item : never;
type Routes = Tightbeam["events"];

test("Event is a union by type over every event type, each with its own data", () => {
  holds<Same<EventType, (typeof EVENT_TYPES)[number]>>();
  holds<Same<Event["type"], EventType>>();
  holds<Same<keyof EventData, EventType>>();
  holds<Same<Extract<Event, { type: "message.inbound" }>["data"], InboundEventData>>();
  holds<Same<Extract<Event, { type: "message.delivered" }>["data"], MessageEventData>>();
  holds<Same<Extract<Event, { type: "webhook.test" }>["data"], WebhookTestData>>();
  holds<Same<Event<"facetime.incoming">["data"], CallEventData>>();
});

test("a switch over the type of an event narrows its data, and covers every type", () => {
  const textOf = (event: Event): string | null => {
    if (event.type === "message.inbound") {
      holds<Same<typeof event.data, InboundEventData>>();
      return event.data.text;
    }
    if (event.type === "webhook.test") {
      holds<Same<typeof event, Event<"webhook.test">>>();
      return null;
    }
    holds<Same<typeof event.type, Exclude<EventType, "message.inbound" | "webhook.test">>>();
    return null;
  };
  void textOf;
});

test("verifyWebhook, events.get, list, listAll and stream and sandbox.wait give events narrowed by the types asked for", () => {
  holds<Same<Awaited<ReturnType<typeof verifyWebhook>>, Event>>();
  holds<Same<Awaited<ReturnType<Routes["get"]>>, Event>>();
  holds<Same<Awaited<ReturnType<Routes["list"]>>["events"][number], Event>>();
  const calls = (client: Tightbeam) => ({
    list: client.events.list({ type: "message.inbound" }),
    listAll: client.events.listAll({ type: "message.inbound" }),
    stream: client.events.stream({ events: ["message.inbound", "message.failed"] }),
    all: client.events.stream(),
    wait: client.sandbox.wait({ type: "message.inbound" }),
    anything: client.sandbox.wait(),
  });
  type Calls = ReturnType<typeof calls>;
  holds<Same<Awaited<Calls["list"]>["events"][number], Event<"message.inbound">>>();
  holds<Same<Items<Calls["listAll"]>, Event<"message.inbound">>>();
  holds<Same<Items<Calls["stream"]>["type"], "message.inbound" | "message.failed">>();
  holds<Same<Items<Calls["all"]>, Event>>();
  holds<Same<Awaited<Calls["wait"]>, Event<"message.inbound"> | null>>();
  holds<Same<Awaited<Calls["anything"]>, Event | null>>();
});

test("webhookHandler gives each handler the event of its type, and refuses a type that does not exist", () => {
  holds<Same<Parameters<NonNullable<WebhookHandlers["message.failed"]>>[0], Event<"message.failed">>>();
  holds<Same<Parameters<NonNullable<WebhookHandlers["*"]>>[0], Event>>();
  webhookHandler(
    {
      "message.inbound": async (event) => {
        holds<Same<typeof event, Event<"message.inbound">>>();
      },
      "*": (event) => {
        holds<Same<typeof event, Event>>();
      },
    },
    { secret: "whsec_x" },
  );
  // @ts-expect-error There is no such type.
  webhookHandler({ "message.sung": () => {} }, { secret: "whsec_x" });
});
