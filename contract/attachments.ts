/** Attachments: files to send, and files of messages. */

import { Type } from "typebox";
import {
  absent,
  choice,
  flag,
  id,
  optional,
  orNull,
  record,
  request,
  says,
  shows,
  stringOrNull,
  text,
  yes,
} from "./schema.ts";
import { HttpsUrl } from "./values.ts";

/** Attachments that one message can have. */
export const ATTACHMENTS_MAX = 20;

export const ATTACHMENT_SOURCES = ["url", "base64"] as const;
const Source = choice("AttachmentSource", ATTACHMENT_SOURCES, "Where the bytes of a file to send come from.");

/** A type or a subtype (RFC 6838, 4.2). */
const TYPE_NAME = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,126}";

export const AttachmentInput = request(
  "AttachmentInput",
  "A file to send (iMessage): its HTTPS URL, or its bytes as base64.",
  {
    type: says(Source, "`url`: the service fetches the file. `base64`: the request holds it."),
    url: optional(says(HttpsUrl, "HTTPS URL of the file, fetched when the message is sent; required with `url`.")),
    data: optional(
      shows(Type.String({ description: "The bytes of the file; required with `base64`." }), {
        contentEncoding: "base64",
        // The older name of the same rule: some generators know no other.
        format: "byte",
        minLength: 1,
      }),
    ),
    mimeType: optional(
      text(1, 255, "MIME type of the file; its content decides if the two differ.", {
        pattern: `^\\s*${TYPE_NAME}/${TYPE_NAME}\\s*(?:;[^\\x00]*)?$`,
      }),
    ),
    filename: optional(text(1, 255, "Name of the file.")),
    isAudioMessage: optional(flag("Whether the file is a voice message.")),
  },
  {
    allOf: [
      {
        oneOf: [
          { properties: { type: { const: "url" }, url: {}, data: absent }, required: ["type", "url"] },
          { properties: { type: { const: "base64" }, data: {}, url: absent }, required: ["type", "data"] },
        ],
      },
    ],
  },
);

export const Attachment = record("Attachment", "A file of a message.", {
  guid: id("att", "Id of the file."),
  mimeType: stringOrNull("MIME type of the file."),
  filename: stringOrNull("Name of the file."),
  totalBytes: orNull(Type.Integer({ minimum: 0 }), "Size of the file in bytes."),
  downloadUrl: stringOrNull("Where to download the file, without a key; null if the service does not keep it."),
  missing: optional(
    yes(
      "The message names the file, which has not come; `message.attachments_added` tells when it comes within a day.",
    ),
  ),
});
