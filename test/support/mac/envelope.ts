/** The fake Mac's answers: BlueBubbles' envelopes, its four kinds of error, and bodies that are none of them. */

/** An answer that is thrown: an error of the server, or a file. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;

  constructor(status: number, body: unknown, message = "") {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export interface Answer {
  status: number;
  body: unknown;
}

/** Bytes as they are, with their type. */
export interface FileBody {
  contentType: string;
  bytes: Uint8Array;
}

export function success(data?: unknown, message = "Success", metadata?: unknown): Answer {
  const body = { status: 200, message, ...(data === undefined ? {} : { data }) };
  return { status: 200, body: metadata === undefined ? body : { ...body, metadata } };
}

/** FaceTime's leave answers 201 with no data. */
export const NO_DATA: Answer = { status: 201, body: { status: 201, message: "No Data" } };

export function badRequest(message: string): Refusal {
  const words = "You've made a bad request! Please check your request params & body";
  return refusal(400, words, "Validation Error", message);
}

export function unauthorized(message: string): Refusal {
  return refusal(401, "You are not authorized to access this resource", "Authentication Error", message);
}

export function notFound(message: string): Refusal {
  return refusal(404, "The requested resource was not found", "Database Error", message);
}

/** The 500 of a failed command: `headline` is what was tried, `message` what went wrong. */
export function iMessageError(headline: string, message: string, data?: unknown): Refusal {
  return refusal(500, headline, "iMessage Error", message, data);
}

/** The 500 of everything that the server did not foresee. */
export function unhandled(message: string): Refusal {
  return refusal(500, "An unhandled error has occurred!", "Server Error", message);
}

export function gatewayTimeout(): Refusal {
  return refusal(504, "The server took too long to respond!", "Gateway Timeout", "Request timed out");
}

function refusal(status: number, headline: string, type: string, message: string, data?: unknown): Refusal {
  const error = { type, message };
  return new Refusal(status, { status, message: headline, error, ...(data === undefined ? {} : { data }) }, message);
}
