/** The baseline of delivering: a process with a bare loop that signs a body and posts it with undici. */

import { Agent } from "undici";
import { signatureHeaders } from "../server/core/signature.ts";
import { answerParent } from "./child.ts";
import { nowMs } from "./clock.ts";

/** Concurrent posts to each of `urls`, for a time or up to a total. */
export interface Posting {
  urls: readonly string[];
  concurrency: number;
  until: { ms: number } | { posts: number };
}

const SECRET = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
/** As large as an event of the benchmark's messages. */
const BODY = JSON.stringify({
  id: "evt_019aa000-0000-7000-8000-000000000000",
  type: "message.delivered",
  timestamp: "2026-01-01T00:00:00.000Z",
  data: {
    messageId: "msg_019aa000-0000-7000-8000-000000000000",
    externalMessageId: "bench-10000",
    from: "+15005550001",
    to: "+15005550234",
    text: "Your order 10000 has left our warehouse and arrives tomorrow between 9 and 12.",
    channel: "imessage",
    metadata: { order: "A-10000", campaign: "autumn" },
    status: "delivered",
    sequence: 3,
    correlationId: "cor_00000000000000000000000000000000",
    deliveredAt: "2026-01-01T00:00:00.000Z",
  },
});

/** Posts a second. Connections are kept between calls. */
answerParent<Posting, number>(async ({ urls, concurrency, until }) => {
  const startedAt = nowMs();
  let begun = 0;
  const isDone = () => ("posts" in until ? begun >= until.posts : nowMs() >= startedAt + until.ms);
  const loop = async (url: string) => {
    while (!isDone()) {
      begun += 1;
      await post(url);
    }
  };
  await Promise.all(urls.flatMap((url) => Array.from({ length: concurrency }, () => loop(url))));
  return begun / ((nowMs() - startedAt) / 1_000);
});

const agent = new Agent();

async function post(url: string): Promise<void> {
  const eventId = "evt_019aa000-0000-7000-8000-000000000000";
  const sentAtSeconds = Math.floor(Date.now() / 1_000);
  const signed = signatureHeaders({ eventId, body: BODY, secret: SECRET, previousSecret: null, sentAtSeconds });
  const { origin, pathname } = new URL(url);
  const { body } = await agent.request({
    origin,
    path: pathname,
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "Tightbeam/bench",
      "x-correlation-id": "cor_00000000000000000000000000000000",
      ...signed,
    },
    body: BODY,
  });
  await body.dump();
}
