/** Operations on attachments. */

import { Type } from "typebox";
import { operation, type Section } from "../operation.ts";

export const attachments: Section = {
  tag: "Attachments",
  description: "Files of received messages. A file to send is part of its message: as a URL, or as base64.",
  parameters: {
    token: { description: "Token of `downloadUrl`; it replaces a key.", example: "K5Zt0d3mQx1c8Yb7Vn2Rsw" },
  },
  operations: {
    "GET /v1/attachments/:token": operation({
      id: "downloadAttachment",
      summary: "Download an attachment",
      description:
        "Returns the bytes of a file, or with `Range` a part of them, without a key, while the event that announced the file is kept. Always a download: `Content-Disposition: attachment`, `X-Content-Type-Options: nosniff`.",
      scope: "public",
      response: Type.Null(),
      example: null,
      errors: ["PROVIDER_ERROR", "PROVIDER_TIMEOUT"],
      headers: { Range: { description: "The part of the bytes to return, with 206.", example: "bytes=0-1023" } },
      bare: true,
      contents: { "application/octet-stream": { schema: Type.Unsafe<string>({}) } },
    }),
  },
};
