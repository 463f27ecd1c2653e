/** Benchmark: a customer's reads while another customer's ten connections search many messages for rare ones. */

import { Child } from "./child.ts";
import type { MessageFilled, MessageFilling } from "./fill-messages.ts";
import type { Getting, Got } from "./getter.ts";
import { quantiles } from "./latency.ts";
import { count, limitRow, type Row } from "./report.ts";
import { addCustomer, type Service } from "./service.ts";
import type { Stage } from "./stage.ts";

const ATTACKERS = 10;
/** Filters without a match in the filled database: an index decides the first, the others read rows. */
const ATTACKS = ["/v1/messages?status=unsent", "/v1/messages?direction=inbound", "/v1/messages?q=nothing"];
const PROBES = { list: "/v1/messages?limit=20", health: "/health", ready: "/readyz" } as const;
const PAUSE_MS = 5;
const RATIO_MAX = 5;

/** p99 of the other customer's list, and of `/health` and `/readyz`, alone and during each attack. */
export async function measureReads(stage: Stage): Promise<Row[]> {
  const { service, otherKey } = await filled(stage);
  await probe(stage, service, otherKey);
  const alone = await probe(stage, service, otherKey);
  const rows: Row[] = [];
  for (const path of ATTACKS) rows.push(...(await attack(stage, { service, otherKey, path, alone })));
  await service.stop();
  return rows;
}

interface Attack {
  service: Service;
  otherKey: string;
  path: string;
  /** The figures that were measured before. */
  alone: Probed;
}

async function attack(stage: Stage, { service, otherKey, path, alone }: Attack): Promise<Row[]> {
  const attacker = new Child<Getting, Got>("./getter.ts");
  const { port, apiKey: key } = service;
  const ms = stage.extent.readsMs + 1_000;
  const attacked = attacker.ask({ port, key, paths: [path], connections: ATTACKERS, pauseMs: 0, ms });
  const during = await probe(stage, service, otherKey);
  const pages = quantiles((await attacked).latenciesMs);
  attacker.stop();
  return [
    ...rowsOf(`another's list of 20, ${ATTACKERS} × ${path}`, alone.list, during.list, RATIO_MAX),
    ...rowsOf("  /health", alone.health, during.health, null),
    ...rowsOf("  /readyz", alone.ready, during.ready, null),
    limitRow("  a page of the attacker: p50", " ms", [pages.p50], null),
  ];
}

/** A service with many messages of its first customer, and another customer, whose key is returned. */
async function filled(stage: Stage): Promise<{ service: Service; otherKey: string }> {
  const dataDir = stage.dataDir("reads");
  const first = await stage.start("reads");
  const otherKey = await addCustomer(first, 1);
  await first.stop();
  const filler = new Child<MessageFilling, MessageFilled>("./fill-messages.ts");
  await filler.ask({ dataDir, messages: stage.extent.listed });
  filler.stop();
  return { service: await stage.start("reads"), otherKey };
}

type Probed = Record<keyof typeof PROBES, readonly number[]>;

async function probe(stage: Stage, { port }: Service, otherKey: string): Promise<Probed> {
  const got = Object.entries(PROBES).map(async ([name, path]) => {
    const getter = new Child<Getting, Got>("./getter.ts");
    const key = name === "list" ? otherKey : null;
    const { latenciesMs, refused } = await getter.ask({
      port,
      key,
      paths: [path],
      connections: 1,
      ms: stage.extent.readsMs,
      pauseMs: PAUSE_MS,
    });
    getter.stop();
    if (refused > 0) throw new Error(`${path}: ${refused} answers were no 200`);
    return [name, latenciesMs] as const;
  });
  return Object.fromEntries(await Promise.all(got)) as unknown as Probed;
}

function rowsOf(what: string, alone: readonly number[], during: readonly number[], goal: number | null): Row[] {
  const [measured, against] = [quantiles(during), quantiles(alone)];
  const ratio = measured.p99 / against.p99;
  const row = {
    what: `${what}: p99`,
    measured: `${count(measured.p99)} ms`,
    against: `${count(against.p99)} ms`,
    ratio,
  };
  return [
    goal === null ? row : { ...row, goal: `≤ ${goal}`, met: ratio <= goal },
    { what: "  p50", measured: `${count(measured.p50)} ms`, against: `${count(against.p50)} ms` },
  ];
}
