/**
 * Finds the channel of a row. BlueBubbles writes no service into its rows, and a chat of macOS 26 (`any;-;…`) has none in its guid.
 *
 * | the row                                | has the channel of                                  |
 * |----------------------------------------|-----------------------------------------------------|
 * | has a handle, or a chat with a service | that handle, else that chat; nothing is asked       |
 * | a contact's, without either            | the last row of its chat with a handle, else its own `service` |
 * | ours, without either                   | its own `service`: others in its chat went by others |
 */

import type { Channel } from "../../../sdk/wire.ts";
import type { Limits, MacClient } from "./client.ts";
import { channelOfRow } from "./inbound.ts";
import { channelOfService, type MacMessage, parseMessages } from "./records.ts";
import { retryLater } from "./row-queue.ts";

/** Services that a row may have, as chat.db writes them. */
const SERVICES = ["iMessage", "SMS", "RCS"] as const;
/** Rows of a chat that are looked through for one with a handle. */
const ROWS_MAX = 50;

/** The channel of a row; null if the Mac names none. Throws `RetryLater`. */
export async function findChannel(client: MacClient, row: MacMessage, limits: Limits): Promise<Channel | null> {
  const known = channelOfRow(row);
  if (known !== null) return known;
  const ofChat = row.isFromMe ? null : await channelOfChat(client, row, limits);
  return ofChat ?? (await channelByService(client, row, limits));
}

async function channelOfChat(client: MacClient, { guid, chats }: MacMessage, limits: Limits): Promise<Channel | null> {
  const [chat] = chats;
  if (chat === undefined) return null;
  const body = { chatGuid: chat.guid, sort: "DESC", limit: ROWS_MAX, offset: 0, with: [] };
  const rows = await query(client, body, limits);
  const others = rows.filter((other) => other.guid !== guid);
  return others.map(({ handle }) => channelOfService(handle?.service ?? null)).find((one) => one !== null) ?? null;
}

/** BlueBubbles does not write `service`, and takes conditions on it. */
async function channelByService(client: MacClient, row: MacMessage, limits: Limits): Promise<Channel | null> {
  for (const service of SERVICES) {
    const where = [
      { statement: "message.guid = :guid", args: { guid: row.guid } },
      { statement: "message.service = :service", args: { service } },
    ];
    const rows = await query(client, { limit: 1, offset: 0, sort: "ASC", with: [], where }, limits);
    if (rows.length > 0) return channelOfService(service);
  }
  return null;
}

async function query(client: MacClient, body: object, limits: Limits): Promise<readonly MacMessage[]> {
  const response = await client.query("/message/query", body, limits);
  if (response.kind === "ok") return parseMessages(response.data);
  throw retryLater(response);
}
