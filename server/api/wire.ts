/** The route of the Wire: one stream of requests, events, deliveries and timelines, as they happen. */

import { WireQuery } from "../../contract/wire.ts";
import type { With } from "../engine/engine-deps.ts";
import { type Route, route } from "./route.ts";
import type { Streams } from "./stream.ts";
import { WireFeed } from "./wire-feed.ts";

export function wireRoutes(deps: With<"attempted" | "configCache" | "eventNotifier">, streams: Streams): Route[] {
  const feed = new WireFeed(deps);
  return [
    route({
      method: "GET",
      path: "/v1/wire",
      scope: "messages",
      query: WireQuery,
      async handle({ caller, query, header, isHead }) {
        const { key, customerId, session } = caller;
        const { messageId = null } = query;
        const lastEventId = header("last-event-id") ?? "";
        const subscription = {
          key,
          customerId,
          messageId,
          sessionId: session?.session.id ?? null,
          types: null,
          lastEventId: lastEventId === "" ? null : lastEventId,
          wire: feed,
        };
        const opened = await streams.open(subscription, isHead);
        if (isHead || !("stream" in opened)) return opened;
        return {
          ...opened,
          stream(response) {
            // Before the events, so that the deliveries of the first ones are new.
            feed.add({ customerId, keyId: session === null ? key.id : null, messageId, response });
            opened.stream(response);
          },
        };
      },
    }),
  ];
}
