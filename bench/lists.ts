/** Benchmark: pages of lists among many messages, against the same pages among 10,000. */

import { Child } from "./child.ts";
import { BULK_ID, type MessageFilled, type MessageFilling } from "./fill-messages.ts";
import type { Getting, Got } from "./getter.ts";
import { quantiles } from "./latency.ts";
import { processorSeconds } from "./machine.ts";
import { count, median, type Row, rate } from "./report.ts";
import type { Service } from "./service.ts";
import type { Stage } from "./stage.ts";

const FEW = 10_000;
const RATIO_MAX = 2;

/** A service, and the names of what its database contains. */
export interface FilledService {
  service: Service;
  filled: MessageFilled;
}

/** Pages that an index serves, by name: a goal holds for them. Several paths are requested one after the other. */
const SERVED: Record<string, (filled: MessageFilled) => string[]> = {
  list: () => ["/v1/messages"],
  "by recipient": ({ recipients }) => recipients.map((to) => `/v1/messages?to=%2B${to.slice(1)}`),
  "by externalMessageId": ({ externalMessageIds }) =>
    externalMessageIds.map((id) => `/v1/messages?externalMessageId=${id}`),
  "by externalMessageId of every tenth message": () => [`/v1/messages?externalMessageId=${BULK_ID}`],
  "by status=delivered": () => ["/v1/messages?status=delivered"],
  "by status=failed, one of a hundred": () => ["/v1/messages?status=failed"],
  "by chat": ({ chats }) => chats.map((id) => `/v1/messages?chatId=${id}`),
  "of a chat": ({ chats }) => chats.map((id) => `/v1/chats/${id}/messages`),
};
/** Filters without a match, which read as many windows as one page may. */
const UNSERVED: typeof SERVED = {
  "by status=pending, without a match": () => ["/v1/messages?status=pending"],
  "by words, without a match": () => ["/v1/messages?q=nothing"],
};

/** The time of each page, and its ratio. */
export async function measureLists(stage: Stage): Promise<Row[]> {
  const few = await fill(stage, "few", FEW);
  const many = await fill(stage, "many", stage.extent.stored);
  const rows = await compareLists(stage, few, many);
  await few.service.stop();
  await many.service.stop();
  return rows;
}

/** The same for two services that are filled already. */
async function compareLists(stage: Stage, few: FilledService, many: FilledService): Promise<Row[]> {
  const rows: Row[] = [];
  // Otherwise the first list would pay for compiling the code of all.
  for (const side of [few, many])
    await request(stage, side, (filled) => Object.values(SERVED).flatMap((of) => of(filled)));
  for (const [name, pathsOf] of Object.entries({ ...SERVED, ...UNSERVED })) {
    const pages: { few: Pages[]; many: Pages[] } = { few: [], many: [] };
    for (let round = 0; round < stage.extent.rounds; round += 1) {
      pages.few.push(await request(stage, few, pathsOf));
      pages.many.push(await request(stage, many, pathsOf));
    }
    const what = rows.length === 0 ? `${count(many.filled.messages)} messages, a page of the ${name}` : `  ${name}`;
    const times = ratioOf(`${what}: p50`, " ms", pages, ({ p50Ms }) => p50Ms);
    const isMet = (times.ratio ?? 0) <= RATIO_MAX;
    rows.push(name in SERVED ? { ...times, goal: `≤ ${RATIO_MAX}`, met: isMet } : times);
    rows.push(ratioOf("    processor time", " ms", pages, ({ processorMs }) => processorMs));
  }
  return rows;
}

/** The median time of a page, and the service's processor time of a page, on which other load has no influence. */
interface Pages {
  p50Ms: number;
  processorMs: number;
}

function ratioOf(
  what: string,
  unit: string,
  pages: { few: readonly Pages[]; many: readonly Pages[] },
  figure: (of: Pages) => number,
): Row {
  const [many, few] = [pages.many.map(figure), pages.few.map(figure)];
  return { what, measured: rate(many, unit), against: rate(few, unit), ratio: median(many) / median(few) };
}

/** Requests pages one after the other. */
async function request(
  stage: Stage,
  { service: { port, pid, apiKey: key }, filled }: FilledService,
  pathsOf: (filled: MessageFilled) => string[],
): Promise<Pages> {
  const getter = new Child<Getting, Got>("./getter.ts");
  const getting = { port, key, connections: 1, pauseMs: 0, paths: pathsOf(filled) };
  await getter.ask({ ...getting, ms: stage.extent.warmMs });
  const before = processorSeconds(pid);
  const { latenciesMs, refused } = await getter.ask({ ...getting, ms: stage.extent.roundMs });
  const after = processorSeconds(pid);
  getter.stop();
  if (refused > 0) throw new Error(`${getting.paths[0]}: ${refused} answers were no 200`);
  const spent = before === null || after === null ? Number.NaN : after.all - before.all;
  return { p50Ms: quantiles(latenciesMs).p50, processorMs: (spent * 1_000) / latenciesMs.length };
}

async function fill(stage: Stage, name: string, messages: number): Promise<FilledService> {
  const dataDir = stage.dataDir(`lists-${name}`);
  await (await stage.start(`lists-${name}`)).stop();
  const filler = new Child<MessageFilling, MessageFilled>("./fill-messages.ts");
  const filled = await filler.ask({ dataDir, messages });
  filler.stop();
  return { service: await stage.start(`lists-${name}`), filled };
}
