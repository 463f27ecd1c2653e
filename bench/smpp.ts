/** Benchmark: SMPP: PDUs written and read, against the codec of npm's smpp in the same process; and messages sent. */

import { PDU } from "smpp";
import { decodePdu, encodePdu } from "../server/providers/smpp/codec.ts";
import type { SubmitSm } from "../server/providers/smpp/pdu.ts";
import { nowMs } from "./clock.ts";
import { type Row, ratioRow } from "./report.ts";
import type { Stage } from "./stage.ts";
import { measureSubmits } from "./submits.ts";

/** PDUs between two reads of the clock. */
const BATCH = 500;

const TEXT = Buffer.from("Your parcel comes today between 2 and 4 pm. Reply STOP to end these messages.", "latin1");

const OURS: SubmitSm = {
  command: "submit_sm",
  sequence: 1,
  serviceType: "",
  source: { ton: 1, npi: 1, address: "15550000001" },
  destination: { ton: 1, npi: 1, address: "15550100001" },
  esmClass: 0,
  protocolId: 0,
  priority: 0,
  scheduleDeliveryTime: "",
  validityPeriod: "",
  registeredDelivery: 1,
  replaceIfPresent: 0,
  dataCoding: 0,
  defaultMessageId: 0,
  shortMessage: new Uint8Array(TEXT),
  tlvs: new Map([[0x0204, new Uint8Array([0, 7])]]),
};

const THEIRS = {
  sequence_number: 1,
  source_addr_ton: 1,
  source_addr_npi: 1,
  source_addr: "15550000001",
  dest_addr_ton: 1,
  dest_addr_npi: 1,
  destination_addr: "15550100001",
  registered_delivery: 1,
  // Without this setting it would write GSM octets and declare them as IA5.
  data_coding: 0,
  short_message: TEXT,
  user_message_reference: 7,
};

export async function measureSmpp(stage: Stage): Promise<Row[]> {
  return [...measureCodec(stage), ...(await measureSubmits(stage))];
}

/** A submit_sm with a common text, encoded and decoded. Both codecs write the same octets. */
function measureCodec(stage: Stage): Row[] {
  const theirs = () => new PDU(new PDU("submit_sm", THEIRS).toBuffer());
  const ours = () => decodePdu(encodePdu(OURS));
  if (!encodePdu(OURS).equals(new PDU("submit_sm", THEIRS).toBuffer())) throw new Error("the codecs do not agree");
  const { rounds, roundMs, warmMs } = stage.extent;
  const rates = { ours: [] as number[], theirs: [] as number[] };
  for (let round = 0; round < rounds; round += 1) {
    rates.ours.push(perSecond(ours, roundMs, warmMs));
    rates.theirs.push(perSecond(theirs, roundMs, warmMs));
  }
  return [ratioRow("SMPP: submit_sm written and read (against npm smpp)", "/s", rates.ours, rates.theirs, 1)];
}

function perSecond(once: () => unknown, roundMs: number, warmMs: number): number {
  runFor(once, warmMs);
  const startedAt = nowMs();
  const done = runFor(once, roundMs);
  return (done * 1_000) / (nowMs() - startedAt);
}

function runFor(once: () => unknown, ms: number): number {
  const endsAt = nowMs() + ms;
  let done = 0;
  while (nowMs() < endsAt) {
    for (let at = 0; at < BATCH; at += 1) once();
    done += BATCH;
  }
  return done;
}
