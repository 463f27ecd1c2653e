/** Other routes of the fake Mac: ping, server info, account, webhooks, files and FaceTime. */

import { type Answer, type FileBody, NO_DATA, notFound, success, unhandled } from "./envelope.ts";
import type { ApiRequest, Inside, Route } from "./route.ts";

export const SERVICE_ROUTES: readonly Route[] = [
  { method: "GET", path: "ping", handle: () => success("pong", "Ping received!") },
  { method: "GET", path: "server/info", handle: info },
  { method: "GET", path: "icloud/account", handle: account },
  { method: "GET", path: "webhook", handle: listWebhooks },
  {
    method: "POST",
    path: "webhook",
    handle: ({ events }, { body }) => success(events.register(body.url, body.events), "Successfully created webhook!"),
  },
  { method: "DELETE", path: "webhook/:id", handle: deleteWebhook },
  { method: "GET", path: "attachment/:guid/download", handle: download },
  { method: "GET", path: "attachment/:guid/download/force", handle: forceDownload },
  { method: "POST", path: "facetime/answer/:uuid", handle: answerCall },
  { method: "POST", path: "facetime/leave/:uuid", handle: leaveCall },
];

function info({ release, privateApi }: Inside): Answer {
  return success({
    computer_id: "somebody@mac",
    os_version: `${release.macOs}.${release.macOs === 26 ? 0 : 5}.0`,
    server_version: release.version === "1.9.9" ? "1.9.9" : "1.9.10",
    private_api: privateApi.isOn,
    proxy_service: "lan-url",
    helper_connected: privateApi.isConnected,
    detected_icloud: "somebody@icloud.example",
    detected_imessage: "somebody@icloud.example",
    macos_time_sync: 0.01,
    local_ipv4s: ["192.0.2.5"],
    local_ipv6s: [],
  });
}

async function account({ privateApi, faults, ownAddress }: Inside): Promise<Answer> {
  await privateApi.command("get-account-info");
  const isOut = faults.has("signedOut");
  const isNamed = !isOut && !faults.has("addressTaken");
  return success(
    {
      apple_id: "somebody@icloud.example",
      account_name: "Somebody",
      sms_forwarding_enabled: !faults.has("smsNotForwarded"),
      sms_forwarding_capable: true,
      vetted_aliases: isNamed ? [{ Alias: ownAddress(), Status: 3 }] : [],
      aliases: [],
      login_status_message: isOut ? "Not Signed In" : "Connected",
      active_alias: isNamed ? ownAddress() : null,
    },
    "Successfully fetched account info!",
  );
}

function listWebhooks({ events }: Inside, { query }: ApiRequest): Answer {
  if (query.has("id")) throw unhandled("Validator `number` is not defined!");
  const url = query.get("url");
  const found = events.webhooks.filter((webhook) => url === null || webhook.url === url);
  if (url !== null && found.length === 0) throw unhandled("Cannot read properties of null (reading 'events')");
  return success(found, "Successfully fetched webhooks!");
}

function deleteWebhook({ events }: Inside, { params: [id = ""] }: ApiRequest): Answer {
  events.unregister(Number(id));
  return success(undefined, "Successfully deleted webhook!");
}

function download({ db }: Inside, { params: [guid = ""], query }: ApiRequest): FileBody {
  const row = db.attachments.find((attachment) => attachment.guid === guid);
  if (row === undefined) {
    if (query.get("force") === "false") throw notFound("Attachment does not exist!");
    throw unhandled("Cannot read properties of null (reading 'guid')");
  }
  if (!row.isOnDisk) throw unhandled("Attachment does not exist in disk!");
  // Without `original` the server converts pictures and sounds: the bytes differ from the sent ones.
  const isOriginal = ["true", "1"].includes(query.get("original") ?? "");
  const contentType = row.mimeType ?? "application/octet-stream";
  const isConverted = !isOriginal && ["image/heic", "audio/x-caf"].includes(contentType);
  return isConverted
    ? { contentType: contentType === "image/heic" ? "image/jpeg" : "audio/mpeg", bytes: Buffer.from("converted") }
    : { contentType, bytes: row.bytes };
}

async function forceDownload(mac: Inside, request: ApiRequest): Promise<FileBody> {
  await mac.privateApi.command("download-purged-attachment");
  const row = mac.db.attachments.find(({ guid }) => guid === request.params[0]);
  if (row !== undefined) row.isOnDisk = true;
  return download(mac, request);
}

async function answerCall({ privateApi }: Inside, { params: [uuid = ""] }: ApiRequest): Promise<Answer> {
  await privateApi.command("answer-call");
  await privateApi.command("generate-link");
  return success({ link: `https://facetime.apple.com/join#v=1&p=${encodeURIComponent(uuid)}&k=made-up` });
}

async function leaveCall({ privateApi }: Inside): Promise<Answer> {
  await privateApi.command("leave-call");
  return NO_DATA;
}
