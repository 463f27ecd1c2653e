/**
 * Finds the endpoints whose receivers are gone: ten answers in a row within a day were 410. Any other answer ends the row, and so
 * does another URL; an attempt without an answer changes nothing. In memory, per process: the mark itself is stored. It counts answers
 * in a row, which no window does.
 */

import { setBounded } from "./bounded-map.ts";
import { type Attempt, isSuccess } from "./delivery.ts";
import type { EndpointId } from "./id.ts";
import type { Endpoint } from "./webhook.ts";

/** Most endpoints whose answers are remembered. */
const ENDPOINTS_MAX = 10_000;
const GONE_STATUS = 410;
const IN_A_ROW = 10;
const WITHIN_MS = 86_400_000;

/** Marks an endpoint as gone since a time, or removes the mark (null), as long as the endpoint has this URL. */
export interface GoneMark {
  endpointId: EndpointId;
  url: string;
  goneSince: number | null;
}

/** The last answers of an endpoint. */
interface Row {
  url: string;
  /** Times of the newest answers, all of them 410. */
  times: readonly number[];
  /** Whether the endpoint was reported as gone. Its record may not say so yet. */
  isReported: boolean;
}

/** Counts the answers of endpoints, in the order in which they came. */
export class GoneReceivers {
  readonly #rows = new Map<EndpointId, Row>();

  /** Counts an answer that came at `at`. Returns the mark to set or to remove; null: the record of the endpoint is right. */
  answered(
    { id, url, goneSince }: Pick<Endpoint, "id" | "url" | "goneSince">,
    { status }: Pick<Attempt, "status">,
    at: number,
  ): GoneMark | null {
    if (status === null) return null;
    const known = this.#rows.get(id);
    const row = known?.url === url ? known : null;
    const wasReported = row?.isReported === true;
    if (status === GONE_STATUS) {
      const times = [...(row?.times ?? []), at].slice(-IN_A_ROW);
      const isGone = times.length === IN_A_ROW && at - (times[0] ?? at) <= WITHIN_MS;
      const isNew = isGone && goneSince === null;
      setBounded(this.#rows, id, { url, times, isReported: wasReported || isNew }, ENDPOINTS_MAX);
      return isNew ? { endpointId: id, url, goneSince: at } : null;
    }
    if (row === null && goneSince === null) return null;
    const isBack = isSuccess({ status });
    if (wasReported && !isBack) this.#rows.set(id, { url, times: [], isReported: true });
    else if (row !== null) this.#rows.delete(id);
    return isBack && (wasReported || goneSince !== null) ? { endpointId: id, url, goneSince: null } : null;
  }
}
