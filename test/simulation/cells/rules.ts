/** The promises of eight cells, checked against everything that was observed of a run. */

import type { Holding, Row } from "./cell.ts";
import type { CellsRun } from "./eight-cells.ts";

/** The broken promises of a run, one line each; none if all hold. */
export function brokenRules(run: CellsRun): string[] {
  return [
    ...run.faults,
    ...(run.isQuiet ? [] : ["something never ended"]),
    ...ownersOf(run),
    ...lost(run),
    ...doubled(run),
    ...webhooksOf(run),
  ];
}

/** Exactly one cell serves a customer: the one that the directory names. */
function ownersOf({ cells, directory }: CellsRun): string[] {
  return [...directory.placements].flatMap(([customer, { cell, version }]) => {
    const serving = cells.filter(({ holdings }) => holdings.get(customer)?.role === "serving");
    const isRight = serving.length === 1 && serving[0] === cell && cell.holdings.get(customer)?.version === version;
    return isRight ? [] : [`${customer} is served by ${serving.map(({ name }) => name).join(" and ") || "no cell"}`];
  });
}

/** Every message that was acknowledged or sent is there and delivered. */
function lost(run: CellsRun): string[] {
  const acknowledged = run.sent.flatMap(({ customer, acknowledged: ids }) => ids.map((id) => ({ customer, id })));
  const missing = [...acknowledged, ...run.carrier.taken].filter(({ customer, id }) => {
    const row = rowsOf(run, customer).get(id)?.row;
    return row?.kind !== "message" || row.status !== "delivered";
  });
  return missing.map(({ customer, id }) => `${id} of ${customer} is lost`);
}

/** No message is sent twice: neither its record nor its text, since no client repeats a request without a key. */
function doubled({ sent, carrier }: CellsRun): string[] {
  const times = new Map<string, number>();
  for (const { text } of carrier.taken) times.set(text, (times.get(text) ?? 0) + 1);
  const twice = [...times].filter(([, count]) => count > 1).map(([text, count]) => `${text} was sent ${count} times`);
  const ids = sent.filter(({ acknowledged }) => new Set(acknowledged).size > 1);
  return [...twice, ...ids.map(({ text, acknowledged }) => `${text} was accepted as ${acknowledged.join(" and ")}`)];
}

/** Every message has three events and every inbound message one, each at least once at the customer's server. */
function webhooksOf(run: CellsRun): string[] {
  const ids = new Map<string, Set<string>>();
  for (const { id, type, subject } of run.customersServer.posted)
    ids.set(`${type} ${subject}`, (ids.get(`${type} ${subject}`) ?? new Set()).add(id));
  const messages = run.cells.flatMap(({ holdings }) =>
    [...holdings.values()].filter(({ role }) => role === "serving").flatMap(({ rows }) => messagesIn(rows)),
  );
  const wanted = [
    ...messages.flatMap((id) => ["queued", "sent", "delivered"].map((type) => `${type} ${id}`)),
    ...run.carrier.inbound.map((id) => `inbound ${id}`),
  ];
  return wanted.flatMap((name) => {
    const found = ids.get(name)?.size ?? 0;
    return found === 1 ? [] : [`${name} has ${found} events`];
  });
}

function messagesIn(rows: Holding["rows"]): string[] {
  return [...rows].filter(([, { row }]) => row.kind === "message").map(([id]) => id);
}

function rowsOf({ directory }: CellsRun, customer: string): Map<string, { position: number; row: Row }> {
  return directory.placements.get(customer)?.cell.holdings.get(customer)?.rows ?? new Map();
}
