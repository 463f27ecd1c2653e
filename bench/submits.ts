/** Benchmark: messages that the service sends by SMPP, against a bare client with the same window at the same SMSC. */

import type { Submitting } from "./bare-esme.ts";
import { Child } from "./child.ts";
import { waitFor } from "./clock.ts";
import { processorSeconds } from "./machine.ts";
import { limitRow, type Row, ratioRow } from "./report.ts";
import { loadRound } from "./rounds.ts";
import { addCustomer, addInstance, type Service } from "./service.ts";
import type { SmscCounts, SmscQuestion } from "./smsc.ts";
import type { Stage } from "./stage.ts";

const RATIO_MIN = 0.5;
/** Processor time of a message, in milliseconds. */
const COST_MS_MAX = 0.6;
/** An SMSC as fast as it can be, one beside the service, and one far away. */
const CASES = [
  { window: 10, responseMs: 0, share: 1 / 2 },
  { window: 100, responseMs: 0, share: 1 },
  { window: 10, responseMs: 5, share: 1 / 2 },
  { window: 10, responseMs: 50, share: 1 / 8 },
  { window: 100, responseMs: 50, share: 1 },
] as const;
const WARM_ROUNDS = 3;
const LIMIT_MS = 120_000;
const SETTLED_EVERY_MS = 100;

/** A service with one customer for each window, and its SMSC. */
interface Sending {
  stage: Stage;
  service: Service;
  smsc: Child<SmscQuestion, SmscCounts>;
  esme: Child<Submitting, number>;
  port: number;
  keys: ReadonlyMap<number, string>;
}

export async function measureSubmits(stage: Stage): Promise<Row[]> {
  const smsc = new Child<SmscQuestion, SmscCounts>("./smsc.ts");
  const esme = new Child<Submitting, number>("./bare-esme.ts");
  const service = await stage.start("smpp", { isCounted: true });
  try {
    const { port } = await smsc.ask("port");
    const keys = new Map([
      [10, await addSender(service, port, 10)],
      [100, await addSender(service, port, 100)],
    ]);
    const sending: Sending = { stage, service, smsc, esme, port, keys };
    for (let round = 0; round < WARM_ROUNDS; round += 1) await sustain(sending, round % 2 === 0);
    const rates: Row[] = [];
    for (const each of CASES) rates.push(await measureRate(sending, each));
    return [...rates, ...(await measureCosts(sending, false)), ...(await measureCosts(sending, true))];
  } finally {
    await service.stop();
    for (const child of [smsc, esme]) child.stop();
  }
}

async function addSender(service: Service, port: number, windowSize: number): Promise<string> {
  const account = { host: "127.0.0.1", port, systemId: `window-${windowSize}`, password: "secret" };
  const instanceId = await addInstance(service, "smpp", { ...account, bindMode: "transceiver", windowSize });
  return addCustomer(service, windowSize, { provider: "smpp", instanceId });
}

/** How fast messages that wait already are sent: the window, and not the requests, is the limit. */
async function measureRate(sending: Sending, { window, responseMs, share }: (typeof CASES)[number]): Promise<Row> {
  const { stage, smsc, esme, port } = sending;
  const messages = Math.round(stage.extent.messages * share);
  const way = { responseMs, hasReceipts: false };
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    await smsc.ask("hold");
    await accept(sending, window, messages);
    const { releasedAt } = await smsc.ask({ release: way });
    const { lastAt } = await answered(sending, messages, 0);
    ours.push((messages * 1_000) / (lastAt - releasedAt));
    await settled(sending);
    await smsc.ask({ release: way });
    theirs.push(await esme.ask({ port, window, submits: messages, hasReceipts: false }));
  }
  const how = responseMs === 0 ? "responds at once" : `responds after ${responseMs} ms`;
  return ratioRow(`SMPP: submit_sm, window ${window}, the SMSC ${how}`, "/s", ours, theirs, RATIO_MIN);
}

/** Processor time of the service, all threads, from the requests until the outcomes (and receipts) are on disk. */
async function measureCosts(sending: Sending, hasReceipts: boolean): Promise<Row[]> {
  const { stage, esme, smsc, port } = sending;
  const submits = stage.extent.messages;
  const ours: number[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < stage.extent.rounds; round += 1) {
    ours.push(await sustain(sending, hasReceipts));
    await smsc.ask({ release: { responseMs: 0, hasReceipts } });
    const before = processorSeconds(esme.pid)?.all ?? Number.NaN;
    await esme.ask({ port, window: 100, submits, hasReceipts });
    theirs.push((((processorSeconds(esme.pid)?.all ?? Number.NaN) - before) * 1_000) / submits);
  }
  const what = `SMPP: processor time of a message, ${hasReceipts ? "with its receipt" : "without receipts"}`;
  return [
    limitRow(what, " ms", ours, hasReceipts ? null : COST_MS_MAX),
    limitRow("  of the bare client", " ms", theirs, null),
  ];
}

/** Sends messages as they are accepted, and returns the processor time of each in milliseconds. */
async function sustain(sending: Sending, hasReceipts: boolean): Promise<number> {
  const { stage, service, smsc } = sending;
  const { messages } = stage.extent;
  await smsc.ask({ release: { responseMs: 0, hasReceipts } });
  const before = await service.spent();
  await accept(sending, 100, messages);
  await answered(sending, messages, hasReceipts ? messages : 0);
  await settled(sending);
  const after = await service.spent();
  return ((after.processorSeconds - before.processorSeconds) * 1_000) / messages;
}

async function accept({ stage, service, keys }: Sending, window: number, messages: number): Promise<void> {
  const target = { ...service, keys: [keys.get(window) ?? ""] };
  await loadRound(stage, target, { kind: "queued", until: { messages }, warmMs: 0 });
}

async function answered({ smsc }: Sending, responses: number, receipts: number): Promise<SmscCounts> {
  let counts = await smsc.ask("count");
  const isAll = async () => {
    counts = await smsc.ask("count");
    return counts.responses >= responses && counts.receipts >= receipts;
  };
  await waitFor(`the SMSC answers ${responses} messages`, isAll, { limitMs: LIMIT_MS });
  return counts;
}

/** Resolves once the service writes nothing more. */
async function settled({ service }: Sending): Promise<void> {
  let written = -1;
  const isSettled = async () => {
    const { counts } = await service.spent();
    const isSame = counts.transactions === written;
    written = counts.transactions;
    return isSame;
  };
  await waitFor("the service records the outcomes", isSettled, { limitMs: LIMIT_MS, everyMs: SETTLED_EVERY_MS });
}
