/** HTTP of the fake Mac: matches paths, reads bodies, writes answers. */

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Answer, FileBody } from "./envelope.ts";
import type { ApiRequest } from "./route.ts";

/** The decoded parameters of a matching path, otherwise null. A fixed word takes precedence over a parameter. */
export function match(pattern: string, pathname: string): string[] | null {
  const wanted = ["api", "v1", ...pattern.split("/")];
  const given = pathname.split("/").slice(1);
  if (wanted.length !== given.length) return null;
  const params: string[] = [];
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":")) params.push(decodeURIComponent(value));
    else if (part !== value) return null;
  }
  return params;
}

/** The body of a request; null if the connection was cut before its end. */
export async function read(request: IncomingMessage): Promise<Buffer | null> {
  const parts: Buffer[] = [];
  try {
    for await (const part of request) parts.push(part as Buffer);
  } catch {
    return null;
  }
  return Buffer.concat(parts);
}

/** The fields and the file of a body, by its content type. */
export async function parse(body: Buffer, contentType: string): Promise<Pick<ApiRequest, "body" | "file">> {
  if (contentType.startsWith("multipart/form-data")) {
    const form = await new Response(new Uint8Array(body), { headers: { "content-type": contentType } }).formData();
    const file = form.get("attachment");
    const fields = [...form].filter(([, value]) => typeof value === "string");
    if (!(file instanceof File)) return { body: Object.fromEntries(fields), file: null };
    const bytes = new Uint8Array(await file.arrayBuffer());
    return { body: Object.fromEntries(fields), file: { name: file.name, mimeType: file.type, bytes } };
  }
  if (body.length === 0) return { body: {}, file: null };
  const parsed: unknown = JSON.parse(body.toString("utf8"));
  return { body: typeof parsed === "object" && parsed !== null ? (parsed as ApiRequest["body"]) : {}, file: null };
}

/** Writes an answer, or the bytes of a file. */
export function write(response: ServerResponse, answer: Answer | FileBody): void {
  if ("bytes" in answer) {
    response.writeHead(200, { "content-type": answer.contentType, "content-length": answer.bytes.length });
    response.end(answer.bytes);
  } else if (typeof answer.body === "string") {
    response.writeHead(answer.status, { "content-type": "text/plain; charset=utf-8" }).end(answer.body);
  } else {
    const text = JSON.stringify(answer.body);
    response.writeHead(answer.status, { "content-type": "application/json; charset=utf-8" }).end(text);
  }
}
