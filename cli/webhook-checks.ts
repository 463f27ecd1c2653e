/** The checks of `doctor` for webhooks: whether there are endpoints, whether events arrive, whether links in them can be opened. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type { Delivery, Webhook } from "../sdk/wire.ts";
import { pageAddress } from "./addresses.ts";
import { broken, type CheckResult, ok, warning } from "./check-result.ts";
import { isAccepted, resultOf } from "./deliveries.ts";

/** Results for endpoints, their last deliveries, and the server's public address. Rejects as the client does. */
export async function webhookResults(client: Tightbeam, baseUrl: string): Promise<CheckResult[]> {
  const endpoints = await client.webhooks.endpoints.list();
  return [
    ...endpointResults(endpoints),
    ...(await deliveryResults(client, endpoints, baseUrl)),
    ...(await publicAddressFindings(client, endpoints)),
  ];
}

function endpointResults(endpoints: Webhook[]): CheckResult[] {
  if (endpoints.length === 0) {
    return [
      warning(
        "webhooks",
        "no endpoint is configured: events go only to a callbackUrl",
        "tightbeam webhooks set <url>, or tightbeam listen --forward-to <url> while you try things out",
      ),
    ];
  }
  return endpoints.map(({ id, url, active, events, isGone }) => {
    const types = events.length === 1 ? "1 type of events" : `${events.length} types of events`;
    const what = events.includes("*") ? "every event" : types;
    if (active && isGone) {
      return warning(
        "webhooks",
        `${url} answered ten webhooks in a row with 410 (${id})`,
        `If the receiver has moved: tightbeam webhooks update ${id} --to <url>. If it is gone for good: tightbeam webhooks delete ${id}`,
      );
    }
    if (active) return ok("webhooks", `${url} gets ${what}`);
    return warning(
      "webhooks",
      `${url} is paused (${id})`,
      "It gets no events. To resume it: PATCH /v1/webhooks/:id with active: true",
    );
  });
}

/** Number of the last deliveries that are checked. */
const LAST = 100;

async function deliveryResults({ webhooks }: Tightbeam, endpoints: Webhook[], baseUrl: string): Promise<CheckResult[]> {
  const { deliveries } = await webhooks.deliveries.list({ limit: LAST });
  const kept = new Set(endpoints.filter(({ active }) => active).map(({ id }) => id));
  const tried = deliveries.filter(
    ({ webhookId, attempts, status }) =>
      attempts.length > 0 && status !== "cancelled" && (webhookId === null || kept.has(webhookId)),
  );
  const byUrl = Map.groupBy(tried, ({ url }) => url);
  return [...byUrl].map(([url, ofUrl]) => deliveryResult(url, ofUrl, baseUrl));
}

function deliveryResult(url: string, deliveries: Delivery[], baseUrl: string): CheckResult {
  const attempts = deliveries
    .flatMap((delivery) => delivery.attempts.map((attempt) => ({ delivery, attempt })))
    .sort((one, other) => other.attempt.at.localeCompare(one.attempt.at));
  const [last] = attempts;
  const failing = deliveries.filter(({ status }) => status !== "succeeded");
  if (last === undefined || failing.length === 0)
    return ok("deliveries", `${url} accepted the last ${deliveries.length}`);
  const exhausted = failing.filter(({ status }) => status === "exhausted");
  const count = `${failing.length} of the last ${deliveries.length} to ${url} have not arrived`;
  if (!isAccepted(last.attempt)) {
    const result = resultOf(last.attempt);
    const next = last.delivery.nextAttemptAt === null ? "" : `, next try at ${last.delivery.nextAttemptAt}`;
    const look = `See ${pageAddress(baseUrl, last.delivery.id)}`;
    return broken("deliveries", `${count}; the last answer was ${result}${next}`, `${remedyFor(last.attempt)} ${look}`);
  }
  const advice =
    exhausted.length === 0
      ? "It accepts events again: the rest is retried by itself, or with tightbeam webhooks retry <id>."
      : `${exhausted.length} are given up: tightbeam webhooks deliveries --status exhausted, then retry <id> or replay.`;
  return warning("deliveries", count, advice);
}

const REMEDIES: Readonly<Record<string, string>> = {
  ADDRESS_REFUSED:
    "The server does not send to such an address: make it public HTTPS, or open it with TB_WEBHOOK_ALLOW.",
  DNS_FAILED: "The server finds no address for that name.",
  TIMEOUT: "Respond within 30 s: store the event, respond 200, and do the work afterwards.",
  CONNECTION_REFUSED: "Nothing listens there: start the receiver.",
  CONNECTION_RESET: "The receiver closes the connection before it responds.",
  SECRET_UNREADABLE: "The server cannot decrypt the signing secret: its log says why. Set or rotate the secret.",
  TLS_FAILED: "The receiver's certificate is expired, for another name, or not trusted.",
};

function remedyFor({ status, error }: Delivery["attempts"][0]): string {
  if (status === null) return REMEDIES[error ?? ""] ?? "The receiver gave no readable response.";
  if (status === 401 || status === 403) return "The receiver refuses it: does it verify with this endpoint's secret?";
  if (status >= 300 && status < 400) return "Redirects are not followed: set the address that the redirect leads to.";
  if (status === 404 || status === 405) return "The receiver does not know this path or method.";
  if (status === 410) return "The receiver says that it is gone: set its new address, or delete the endpoint.";
  return "The receiver fails: look at its log.";
}

const LOOPBACK = /^https?:\/\/(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|\/|$)/i;

/** Checks the server's public address, with which links of attachments begin: other machines cannot open loopback. */
async function publicAddressFindings({ sandbox, messages }: Tightbeam, endpoints: Webhook[]): Promise<CheckResult[]> {
  const links = await Promise.all([
    sandbox.inbox.get().then(({ url }) => [url], none),
    messages.list({ limit: 100 }).then((page) => page.messages.flatMap((message) => linksOf(message.attachments))),
  ]);
  const [link] = links.flat();
  if (link === undefined) return [];
  const { origin } = new URL(link);
  const outside = endpoints.find(({ active, url }) => active && !LOOPBACK.test(url));
  if (!LOOPBACK.test(origin) || outside === undefined)
    return [ok("public address", `links in events begin with ${origin}`)];
  return [
    warning(
      "public address",
      `links of attachments begin with ${origin}, which ${outside.url} cannot open`,
      "Start the server with TB_PUBLIC_URL set to the address that the receiver reaches it by.",
    ),
  ];
}

function linksOf(attachments: { downloadUrl: string | null }[]): string[] {
  return attachments.map(({ downloadUrl }) => downloadUrl).filter((url) => url !== null);
}

/** The inbox does not exist beside a real instance, or if it is switched off. */
function none(error: unknown): string[] {
  if (error instanceof TightbeamError && error.status === 404) return [];
  throw error;
}
