/** Tests of the failure table: every known error of BlueBubbles and of proxies before it. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Failure } from "./client.ts";
import { classifyFailure, type FailureClass, outcomeOfFailure, outcomeOfRow } from "./outcomes.ts";

function said(status: number, message: string, type: string | null = "iMessage Error"): Failure {
  return { kind: "errorResponse", status, type, message };
}

const MEANINGS: readonly [Failure, FailureClass][] = [
  [{ kind: "unreachable", reason: "ECONNREFUSED" }, "notAttempted"],
  [{ kind: "noResponse", reason: "timed out" }, "unknown"],
  [said(401, "Unauthorized", "Authentication Error"), "notAttempted"],
  [said(400, "Message is already queued to be sent! (Temp GUID: msg_a-1)", "Validation Error"), "unknown"],
  [said(400, "Attachment is already queued to be sent!", "Validation Error"), "unknown"],
  [said(400, "The chatGuid field is required.", "Validation Error"), "refused"],
  [said(404, "Chat does not exist!", "Database Error"), "refused"],
  [said(404, "the response is not JSON", null), "notAttempted"],
  [said(405, "the response is not JSON", null), "notAttempted"],
  [said(403, "the response is not JSON", null), "notAttempted"],
  [said(413, "the response is not JSON", null), "refused"],
  [said(500, "[500] Message sent with an error. See attached message"), "failedRow"],
  [said(500, "Message sent with an error. See attached message"), "failedRow"],
  [said(500, "Chat does not exist in IMChatRegistry!"), "noChat"],
  [said(500, "Chat does not exist!"), "noChat"],
  [said(500, "iMessage Private API Helper is not connected!"), "notAttempted"],
  [said(500, "iMessage Private API is not enabled!"), "notAttempted"],
  [said(500, "Failed to invoke Private API! No connection"), "notAttempted"],
  [said(500, "iMessage Private API Helper is not connected!", "Server Error"), "notAttempted"],
  [said(500, "Failed to find all handles for specified service!", "Server Error"), "refused"],
  [said(500, "Transaction timeout"), "unknown"],
  [said(500, "Failed to send message! Message not found in database after 60 seconds!"), "unknown"],
  [said(500, "Failed to send message! See attached message error code."), "unknown"],
  [said(500, "Failed to send message!"), "unknown"],
  [said(500, "SQLITE_BUSY: database is locked", "Server Error"), "unknown"],
  [said(502, "the response is not JSON", null), "unknown"],
  [said(503, "the response is not JSON", null), "unknown"],
  [said(504, "Request timed out", "Gateway Timeout"), "unknown"],
  [said(302, "the response is not JSON", null), "unknown"],
  [said(418, "I am a teapot"), "unknown"],
];

test("every failure has its documented class; an unlisted one may have been sent", () => {
  for (const [failure, meaning] of MEANINGS) assert.equal(classifyFailure(failure), meaning, JSON.stringify(failure));
});

test("no failure that may have been sent is deferred or rejected", () => {
  for (const [failure, meaning] of MEANINGS) {
    if (meaning === "noChat" || meaning === "failedRow") continue;
    const { outcome } = outcomeOfFailure(failure, meaning);
    const wanted = { notAttempted: "deferred", refused: "rejected", unknown: "unknown" } as const;
    assert.equal(outcome, wanted[meaning]);
  }
});

test("a row is accepted, not reachable for error 22 on iMessage, and rejected for any other error", () => {
  assert.deepEqual(outcomeOfRow({ guid: "G", error: 0 }, "imessage"), { outcome: "accepted", reference: "G" });
  const notThere = outcomeOfRow({ guid: "G", error: 22 }, "imessage");
  assert.ok(notThere.outcome === "rejected" && notThere.notReachable === true && notThere.code === "22");
  for (const [error, channel] of [
    [22, "sms"],
    [4, "imessage"],
    [-1, "sms"],
  ] as const) {
    const outcome = outcomeOfRow({ guid: "G", error }, channel);
    assert.ok(outcome.outcome === "rejected" && outcome.notReachable === undefined && outcome.code === String(error));
  }
});
