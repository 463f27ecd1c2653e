/** Reference of attachments: their record, and the download. */

import { Type } from "typebox";
import type { Attachment as WireAttachment } from "../../../sdk/wire.ts";
import { wire } from "../schemas/common.ts";
import { component, id, operation, orNull, type Section, TextOrNull } from "./operation.ts";

/** A file of a message; of its events too. */
export const Attachment = wire<WireAttachment>()(
  component("Attachment", {
    guid: id("att"),
    mimeType: TextOrNull,
    filename: TextOrNull,
    totalBytes: orNull(Type.Integer({ minimum: 0 })),
    downloadUrl: TextOrNull,
  }),
);

export const attachments: Section = {
  tag: "Attachments",
  description: "Files that came with messages. Send yours with the message itself: by address, or as base64.",
  parameters: {
    token: { description: "From `downloadUrl`; it takes the place of a key.", example: "K5Zt0d3mQx1c8Yb7Vn2Rsw" },
  },
  operations: {
    "GET /v1/attachments/:token": operation({
      id: "downloadAttachment",
      summary: "Download an attachment",
      description:
        "The bytes of a file, or with `Range` a part of them, without a key, for as long as the event that told of it is kept. Always a download: `Content-Disposition: attachment`, `X-Content-Type-Options: nosniff`.",
      answer: Type.Null(),
      example: null,
      errors: ["PROVIDER_ERROR", "PROVIDER_TIMEOUT"],
      headers: { Range: { description: "Which part of the bytes to answer, with 206.", example: "bytes=0-1023" } },
      bare: true,
      contents: { "application/octet-stream": { schema: Type.Unsafe<string>({}) } },
    }),
  },
};
