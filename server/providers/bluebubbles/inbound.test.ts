/** Tests of the signals for each kind of row. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Channel } from "../../../sdk/wire.ts";
import {
  audioKeptOf,
  channelOfRow,
  groupChangeOf,
  inboundOf,
  isEmpty,
  isRetracted,
  kindOf,
  receiptOf,
  revisionOf,
} from "./inbound.ts";
import { type MacMessage, parseMessage } from "./records.ts";

const ANNA = "+15550100001";
const OWN = "+15550000001";
const PLACE = { to: OWN, channel: "imessage", group: null } as const;
const GUID = "8D0E8A9C-0000-4000-8000-000000000001";

/** A row as in a webhook: by default a contact's text. */
function row(more: object = {}): MacMessage {
  const parsed = parseMessage({
    guid: "G",
    text: "Hi",
    isFromMe: false,
    error: 0,
    itemType: 0,
    groupActionType: 0,
    groupTitle: "",
    associatedMessageType: "0.0",
    handle: { address: ANNA, service: "iMessage" },
    attachments: [],
    ...more,
  });
  assert.ok(parsed !== null);
  return parsed;
}

describe("a row", () => {
  it("has one kind, by its content and sender", () => {
    const reaction = { associatedMessageGuid: "p:0/X", associatedMessageType: "love" };
    const kinds: [more: object, contacts: string, own: string][] = [
      [{}, "message", "own"],
      [{ associatedMessageType: null }, "message", "own"],
      [{ associatedMessageType: "3", associatedMessageGuid: "X" }, "message", "own"],
      [{ associatedMessageType: "sticker", associatedMessageGuid: "p:0/X" }, "message", "own"],
      [reaction, "reaction", "other"],
      [{ ...reaction, associatedMessageType: "4000" }, "other", "other"],
      [{ itemType: 1 }, "group", "group"],
      [{ itemType: 2 }, "group", "group"],
      [{ itemType: 3, groupActionType: 1 }, "group", "group"],
      [{ itemType: 4 }, "other", "other"],
      [{ itemType: 5 }, "audioKept", "other"],
      [{ itemType: 5, balloonBundleId: "com.apple.DigitalTouchBalloonProvider" }, "other", "other"],
      [{ itemType: 6 }, "other", "other"],
    ];
    for (const [more, contacts, own] of kinds) {
      assert.equal(kindOf(row(more)), contacts, JSON.stringify(more));
      assert.equal(kindOf(row({ ...more, isFromMe: true })), own, JSON.stringify(more));
    }
  });

  it("has the channel of its handle, else of its chat, else none", () => {
    const chats = (guid: string) => ({ handle: null, chats: [{ guid }] });
    assert.equal(channelOfRow(row({ handle: { address: ANNA, service: "RCS" } })), "rcs");
    assert.equal(channelOfRow(row({ handle: null, service: "RCS" })), "rcs");
    assert.equal(channelOfRow(row({ chats: [{ guid: `any;-;${ANNA}` }] })), "imessage");
    assert.equal(channelOfRow(row(chats(`SMS;-;${ANNA}`))), "sms");
    assert.equal(channelOfRow(row(chats(`any;-;${ANNA}`))), null);
    assert.equal(channelOfRow(row({ handle: null })), null);
  });
});

describe("a row of our own", () => {
  const own = (more: object) => row({ isFromMe: true, ...more });

  it("has the highest receipt of its message", () => {
    const states: [more: object, receipt: string][] = [
      [{}, "sent"],
      [{ error: 22 }, "failed"],
      [{ isDelivered: true }, "delivered"],
      [{ dateDelivered: 1 }, "delivered"],
      [{ dateRead: 1 }, "read"],
      [{ error: 22, dateDelivered: 1 }, "delivered"],
    ];
    for (const [more, receipt] of states) {
      assert.equal(receiptOf(own(more), "imessage", false).receipt, receipt, JSON.stringify(more));
    }
    assert.equal(receiptOf(own({ dateRead: 1, isDelivered: true }), "imessage", true).receipt, "delivered");
  });

  it("has the code of a failure, and its meaning if known", () => {
    const words = (error: number) => {
      const { code, reason } = receiptOf(own({ error }), "imessage", false);
      return [code, reason];
    };
    assert.deepEqual(words(22), ["22", "the recipient is not on iMessage"]);
    assert.deepEqual(words(4), ["4", "Messages timed out"]);
    assert.deepEqual(words(39), ["39", "Messages could not send it"]);
    const notReachable = (error: number, channel: Channel) => receiptOf(own({ error }), channel, false).notReachable;
    assert.equal(notReachable(22, "imessage"), true);
    assert.equal(notReachable(22, "sms"), undefined);
    assert.equal(notReachable(4, "imessage"), undefined);
  });
});

describe("a row of a contact", () => {
  it("is a message without the files of link previews", () => {
    const attachments = [
      { guid: "A1", transferName: "1B2C.pluginPayloadAttachment", mimeType: null },
      { guid: "A2", transferName: "a.heic", mimeType: "image/heic", totalBytes: 7 },
    ];
    const reported = inboundOf(row({ attachments }), ANNA, PLACE, null);
    assert.deepEqual(reported.attachments, [
      { reference: "A2", mimeType: "image/heic", filename: "a.heic", totalBytes: 7, data: null },
    ]);
  });

  it("is a reply to the first message of its thread; a sticker refers to its bubble", () => {
    assert.equal(inboundOf(row({ threadOriginatorGuid: "T" }), ANNA, PLACE, null).replyTo, "T");
    const sticker = { associatedMessageType: "sticker", associatedMessageGuid: "p:0/T" };
    assert.equal(inboundOf(row(sticker), ANNA, PLACE, null).replyTo, "T");
    // The message before it, which macOS names in every row.
    assert.equal(inboundOf(row({ replyToGuid: "T" }), ANNA, PLACE, null).replyTo, null);
  });

  it("has a payment only if it was made or requested, with an unambiguous amount", () => {
    const cash = { kind: "payment", amountCents: 500, transactionId: null, text: "Sent $5 with Apple Cash." } as const;
    const paid = inboundOf(row({ text: "" }), ANNA, PLACE, cash);
    assert.deepEqual(paid.payment, { amountCents: 500, currency: "USD", isRequest: false });
    assert.equal(paid.text, "Sent $5 with Apple Cash.");
    assert.equal(inboundOf(row(), ANNA, PLACE, { ...cash, kind: "request" }).payment?.isRequest, true);
    assert.equal(inboundOf(row(), ANNA, PLACE, { ...cash, kind: "recurring" }).payment, null);
    assert.equal(inboundOf(row(), ANNA, PLACE, { ...cash, amountCents: null }).payment, null);
  });

  it("is empty only without text, files and app content", () => {
    assert.ok(isEmpty(row({ text: "" })));
    assert.ok(isEmpty(row({ text: null })));
    assert.ok(!isEmpty(row({ text: "", subject: "S" })));
    assert.ok(!isEmpty(row({ text: "", balloonBundleId: "com.apple.Handwriting.HandwritingProvider" })));
    assert.ok(!isEmpty(row({ text: "", attachments: [{ guid: "A" }] })));
  });

  it("reports an edit, and an unsend of the whole message", () => {
    assert.equal(revisionOf(row(), PLACE), null);
    assert.equal(revisionOf(row({ dateEdited: 5, text: "Ho" }), PLACE)?.text, "Ho");
    assert.equal(revisionOf(row({ dateEdited: 5, text: "", partCount: 1 }), PLACE)?.text, "");
    const takenBack = [
      { dateEdited: 5, partCount: 0, text: "" },
      { dateRetracted: 5 },
      { dateEdited: 5, text: "", messageSummaryInfo: [{ retractedParts: [0] }] },
    ];
    for (const more of takenBack) assert.equal(revisionOf(row(more), PLACE)?.text, null, JSON.stringify(more));
    // One of two files of a message was unsent.
    const partly = { dateEdited: 5, text: "Hi", messageSummaryInfo: [{ retractedParts: [1] }] };
    assert.ok(!isRetracted(row(partly)));
    assert.ok(!isRetracted(row({ partCount: 0 })));
  });

  it("reports a kept audio message only if it identifies the message", () => {
    assert.equal(audioKeptOf(row({ itemType: 5, associatedMessageGuid: `p:0/${GUID}` }), PLACE)?.reference, GUID);
    assert.equal(audioKeptOf(row({ itemType: 5, subject: GUID }), PLACE)?.reference, GUID);
    assert.equal(audioKeptOf(row({ itemType: 5, subject: "Audio" }), PLACE), null);
    assert.equal(audioKeptOf(row({ itemType: 5 }), PLACE), null);
  });
});

describe("a row of a group", () => {
  const group = { reference: "iMessage;+;chat1", name: "Trip", participants: [ANNA] };
  const reported = (more: object, other: string | null = null) => {
    const signal = groupChangeOf(row({ text: null, ...more }), { ...PLACE, group }, other);
    return signal === null ? null : [signal.change, signal.participant, signal.title, signal.actor];
  };

  it("reports who joined and left, by whom, the title, and a new photo", () => {
    const other = "+15550100003";
    assert.deepEqual(reported({ itemType: 1 }, other), ["participantAdded", other, null, ANNA]);
    assert.deepEqual(reported({ itemType: 1, groupActionType: 1 }, other), ["participantLeft", other, null, ANNA]);
    assert.deepEqual(reported({ itemType: 1, groupActionType: 1 }), ["participantLeft", null, null, ANNA]);
    assert.deepEqual(reported({ itemType: 3 }), ["participantLeft", ANNA, null, ANNA]);
    assert.deepEqual(reported({ itemType: 3, groupActionType: 1 }), ["photoChanged", null, null, ANNA]);
    assert.deepEqual(reported({ itemType: 3, groupActionType: 2 }), ["photoChanged", null, null, ANNA]);
    assert.deepEqual(reported({ itemType: 2, groupTitle: "Tour" }), ["titleChanged", null, "Tour", ANNA]);
    assert.deepEqual(reported({ itemType: 2, groupTitle: "" }), ["titleChanged", null, null, ANNA]);
    assert.equal(reported({ itemType: 1, groupActionType: 7 }), null);
  });

  it("has our own number as actor if it was done on the Mac", () => {
    assert.deepEqual(reported({ itemType: 3, isFromMe: true, handle: null }), ["participantLeft", OWN, null, OWN]);
    assert.deepEqual(reported({ itemType: 2, isFromMe: true, groupTitle: "T" }), ["titleChanged", null, "T", OWN]);
  });
});
