/** Requests of peers to the hook of an instance, and what a provider answers. */

/** A request of the peer to the instance's hook, as it came. */
export interface HookRequest {
  method: "GET" | "POST";
  /** What follows the hook's own path, with its slash; empty where nothing does. */
  path: string;
  /** The whole address as the peer was told it: `hookUrl` of the context, `path` and the query. */
  url: string;
  /** By lower-case name. */
  headers: Readonly<Record<string, string>>;
  body: Uint8Array;
}

/** What the peer is answered; the body is empty and of no type unless given. */
export interface HookResponse {
  status: number;
  contentType?: string;
  body?: string;
}
