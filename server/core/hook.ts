/** Requests to the hook of an instance, and the responses of its provider. */

/** A request to the hook of an instance. */
export interface HookRequest {
  method: "GET" | "POST";
  /** The path after the hook's own path, with its slash; may be empty. */
  path: string;
  /** The whole public address of the request: the hook's address, `path` and the query. */
  url: string;
  /** By lower-case name. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** The response; without `body` it is empty and has no content type. */
export interface HookResponse {
  status: number;
  contentType?: string;
  body?: string;
}
