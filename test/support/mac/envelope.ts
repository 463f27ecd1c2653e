/** Responses of the fake Mac: BlueBubbles' envelopes, its four kinds of error, and other bodies. */

/** A response that is thrown: a server error or a file. */
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

/** Raw bytes with their content type. */
export interface FileBody {
  contentType: string;
  bytes: Uint8Array;
}

export function success(data?: unknown, message = "Success", metadata?: unknown): Answer {
  const body = { status: 200, message, ...(data === undefined ? {} : { data }) };
  return { status: 200, body: metadata === undefined ? body : { ...body, metadata } };
}

/** The response of FaceTime's leave: 201 without data. */
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

/** The 500 of a failed action: `headline` names the action, `message` the error. */
export function iMessageError(headline: string, message: string, data?: unknown): Refusal {
  return refusal(500, headline, "iMessage Error", message, data);
}

/** The 500 of every error that the server does not handle. */
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
