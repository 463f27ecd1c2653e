/** The baseline of sending by SMPP: a process with a bare client that keeps the window of one bind full, and stores nothing. */

import { connect } from "node:net";
import { decodePdu, encodePdu } from "../server/providers/smpp/codec.ts";
import { Frames } from "../server/providers/smpp/frames.ts";
import type { Pdu } from "../server/providers/smpp/pdu.ts";
import { answerParent } from "./child.ts";
import { nowMs } from "./clock.ts";
import { recipientOf, textOf } from "./request.ts";

/** Messages to submit over one bind. */
export interface Submitting {
  port: number;
  window: number;
  submits: number;
  /** Whether each message gets a receipt. */
  hasReceipts: boolean;
}

const NO_TLVS = new Map<number, Uint8Array>();

/** Submits a second, from the first submit_sm to the last response. */
answerParent<Submitting, number>(({ port, window, submits, hasReceipts }) => {
  return new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port, noDelay: true });
    const frames = new Frames();
    const [sent, left] = [{ count: 0 }, { responses: submits, receipts: hasReceipts ? submits : 0 }];
    let startedAt = 0;
    const write = (pdu: Pdu) => {
      if (socket.writableCorked === 0) {
        socket.cork();
        process.nextTick(() => socket.uncork());
      }
      socket.write(encodePdu(pdu));
    };
    const submit = () => {
      if (sent.count < submits) write(submitOf(++sent.count));
    };
    const take = (pdu: Pdu) => {
      const { sequence } = pdu;
      if (pdu.command === "bind_transceiver_resp") {
        startedAt = nowMs();
        for (let open = 0; open < window; open += 1) submit();
      } else if (pdu.command === "submit_sm_resp") {
        left.responses -= 1;
        submit();
      } else if (pdu.command === "deliver_sm") {
        left.receipts -= 1;
        write({ command: "deliver_sm_resp", status: 0, sequence, messageId: "", tlvs: NO_TLVS });
      }
      if (left.responses > 0 || left.receipts > 0) return;
      resolve(submits / ((nowMs() - startedAt) / 1_000));
      socket.destroy();
    };
    socket.on("data", (chunk: Buffer) => {
      frames.push(chunk);
      for (let frame = frames.next(); frame !== null; frame = frames.next()) take(decodePdu(frame));
    });
    const serves = { ton: 0, npi: 0, address: "" };
    const account = { systemId: "bare", password: "bare", systemType: "", interfaceVersion: 0x34, serves };
    write({ command: "bind_transceiver", sequence: 0x7fff_ffff, ...account });
  });
});

/** The same PDU as the service's for message `index`. */
function submitOf(index: number): Pdu {
  return {
    command: "submit_sm",
    sequence: index,
    serviceType: "",
    source: { ton: 1, npi: 1, address: "15005550100" },
    destination: { ton: 1, npi: 1, address: recipientOf(index, "many").slice(1) },
    esmClass: 0,
    protocolId: 0,
    priority: 0,
    scheduleDeliveryTime: "",
    validityPeriod: "",
    registeredDelivery: 1,
    replaceIfPresent: 0,
    dataCoding: 0,
    defaultMessageId: 0,
    shortMessage: Buffer.from(textOf(index), "latin1"),
    tlvs: new Map([[0x0204, Uint8Array.of((index >> 8) & 0xff, index & 0xff)]]),
  };
}
