/** The checks of `doctor` on the queues of PostgreSQL, where DATABASE_URL is set: whatever is due has a row in its queue. */

import { broken, type CheckResult, ok, warning } from "./check-result.ts";

/** Results for each queue. Changes nothing. */
export async function queueResults(databaseUrl: string | null): Promise<CheckResult[]> {
  if (databaseUrl === null) return [];
  const { compareQueues } = await import("../server/app/compare-queues.ts");
  try {
    return (await compareQueues(databaseUrl)).map(resultOf);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [
      warning("queues", `not compared: ${reason}`, "DATABASE_URL is set here: is it the database of this service?"),
    ];
  }
}

type Compared = Awaited<ReturnType<typeof import("../server/app/compare-queues.ts")["compareQueues"]>>[number];

function resultOf({ table, compared, isComplete, missing, wrong, ids }: Compared): CheckResult {
  if (missing + wrong > 0) {
    const found = `${table}: ${missing} due without a row in the queue, ${wrong} rows of the queue without their record (${ids.join(", ")})`;
    const advice =
      table === "deliveries"
        ? "Retry them by hand (tightbeam webhooks retry <id>), and report it with the service's version."
        : "They are not sent by themselves: report it with the ids and the service's version.";
    return broken("queues", found, advice);
  }
  const range = isComplete ? "all" : "the newest";
  return ok("queues", `${table}: ${range} ${compared} rows agree with their records`);
}
