/** The route that downloads attachments. It needs no key: the token in the path replaces it. */

import { addAbortListener } from "node:events";
import { FILE_BYTES_MAX } from "../core/attachment.ts";
import { defaultFilename } from "../core/media.ts";
import { findDownload, readDownload } from "../engine/attachments/download.ts";
import type { With } from "../engine/engine-deps.ts";
import { Downloads } from "./downloads.ts";
import type { OpenResponses } from "./open-responses.ts";
import { type ApiResponse, publicRoute, type Route } from "./route.ts";

export function attachmentRoutes(deps: With<"signedLinks" | "providers">, openResponses: OpenResponses): Route[] {
  const downloads = new Downloads(deps.clock, openResponses);
  return [
    publicRoute({
      method: "GET",
      path: "/v1/attachments/:token",
      async handle({ params, headers, isHead, gone }) {
        const head = await findDownload(deps, params.token);
        const filename = head.filename ?? defaultFilename(head.mimeType, 1);
        if (isHead) return replyOf({ filename, mimeType: head.mimeType, totalBytes: head.totalBytes, range: null });
        const counted = head.totalBytes ?? FILE_BYTES_MAX;
        const release = downloads.acquire(head.customerId, counted);
        // Runs however the response ends.
        addAbortListener(gone(), () => release());
        try {
          const { bytes, mimeType } = await readDownload(deps, head);
          const range = rangeOf(headers.range, bytes.length);
          const part = range === null ? bytes : bytes.subarray(range.first, range.last + 1);
          release(counted - part.length);
          const reply = replyOf({ filename, mimeType, totalBytes: bytes.length, range });
          return { ...reply, stream: (response) => downloads.send(part, release, response) };
        } catch (error) {
          release();
          throw error;
        }
      },
    }),
  ];
}

interface Range {
  first: number;
  last: number;
}

interface File {
  filename: string;
  mimeType: string;
  totalBytes: number | null;
  range: Range | null;
}

type StreamedFile = Extract<ApiResponse, { headers: unknown }>;

function replyOf({ filename, mimeType, totalBytes, range }: File): StreamedFile {
  const length = range === null ? totalBytes : range.last - range.first + 1;
  return {
    status: range === null ? 200 : 206,
    headers: {
      "Content-Type": mimeType.startsWith("text/") ? `${mimeType}; charset=utf-8` : mimeType,
      ...(length === null ? {} : { "Content-Length": String(length) }),
      ...(range === null ? {} : { "Content-Range": `bytes ${range.first}-${range.last}/${totalBytes}` }),
      "Accept-Ranges": "bytes",
      "Content-Disposition": disposition(filename),
      "X-Content-Type-Options": "nosniff",
      "Content-Security-Policy": "sandbox; default-src 'none'",
      "Cache-Control": "private",
    },
    stream(response) {
      response.end();
    },
  };
}

/** `Content-Disposition` of a download (RFC 6266): the filename in plain ASCII for old clients, and in full by RFC 8187. */
function disposition(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`;
}

const RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/** The single requested range (RFC 9110, 14.2); null for the whole file. A range that cannot be satisfied is ignored, as is allowed. */
function rangeOf(header: string | undefined, length: number): Range | null {
  const [, from = "", to = ""] = RANGE.exec(header ?? "") ?? [];
  if (from === "" && to === "") return null;
  const first = from === "" ? Math.max(0, length - Number(to)) : Number(from);
  const last = from === "" || to === "" ? length - 1 : Math.min(Number(to), length - 1);
  return first <= last ? { first, last } : null;
}
