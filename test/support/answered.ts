/** Checks that hold for every response: in the envelope, or one of the two that have none, and no fault of the service. */

import assert from "node:assert/strict";
import type { ErrorCode } from "../../sdk/wire.ts";
import { failureOf } from "./edge.ts";
import type { AnyRequest } from "./requests.ts";
import { ask, type RawAnswer } from "./socket.ts";

/** Whether the contract allows this failure of 500 or more for the request. */
export type MayFail = (request: AnyRequest, code: ErrorCode) => boolean;

/** Sends a request and checks that the response is in the envelope, and no fault of the service. */
export async function checkAnswered(
  port: number,
  request: AnyRequest,
  mayFail: MayFail = () => false,
): Promise<RawAnswer> {
  const answer = await ask(port, request.bytes, { cut: request.cut, head: request.head });
  const { status, body, headers } = answer;
  const isExcused = status > 500 && !request.head && mayFail(request, failureOf(status, body).error.code);
  assert.ok(status < 500 || isExcused, `${request.line}: ${status} ${body}`);
  assert.ok(headers["x-request-id"], `${request.line}: no X-Request-Id`);
  if (request.head || isBare(answer)) return answer;
  if (status >= 400) {
    const failure = failureOf(status, body);
    assert.equal(failure.requestId, headers["x-request-id"]);
    assert.ok((failure.error.details?.length ?? 0) <= 100);
  } else {
    const success = JSON.parse(body);
    assert.deepEqual(Object.keys(success), ["success", "data", "requestId"], body);
    assert.equal(success.requestId, headers["x-request-id"]);
  }
  return answer;
}

/** Whether the response is a stream of events, which its reader ends, or a file: both have no envelope. */
function isBare({ status, headers }: RawAnswer): boolean {
  if (status >= 400) return false;
  if (headers["content-type"] === "text/event-stream") return true;
  const isFile = headers["content-disposition"]?.startsWith("attachment;") ?? false;
  if (isFile) assert.equal(headers["x-content-type-options"], "nosniff");
  return isFile;
}
