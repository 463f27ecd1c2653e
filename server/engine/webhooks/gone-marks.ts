/**
 * Commits which endpoints are gone, as the loop of deliveries reports it. The marks of one endpoint are committed one after the other; of
 * those that wait only the last counts.
 */

import type { GoneMark } from "../../core/gone-receivers.ts";
import type { EndpointId } from "../../core/id.ts";
import { findEndpoints } from "../../store/webhooks.ts";
import { change, repeatWhileRefused } from "../commit.ts";
import type { Deps } from "../deps.ts";

export class GoneMarks {
  readonly #deps: () => Deps;
  readonly #waiting = new Map<EndpointId, GoneMark>();
  readonly #running = new Set<Promise<void>>();
  #isStopped = false;

  constructor(deps: () => Deps) {
    this.#deps = deps;
  }

  /** Returns at once. */
  report(mark: GoneMark): void {
    const { endpointId } = mark;
    const isQueued = this.#waiting.has(endpointId);
    this.#waiting.set(endpointId, mark);
    if (isQueued) return;
    const { observer, serial } = this.#deps();
    const run = serial
      .run(`gone ${endpointId}`, () => this.#commitNext(endpointId))
      .catch((error: unknown) => observer.fault("gone-marks", error))
      .finally(() => this.#running.delete(run));
    this.#running.add(run);
  }

  /** Resolves when what was reported is committed; a store that refuses it is asked no more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  async #commitNext(endpointId: EndpointId): Promise<void> {
    let mark: GoneMark | undefined;
    const mayBeRepeated = () => !this.#isStopped;
    await repeatWhileRefused(this.#deps(), mayBeRepeated, async () => {
      mark = this.#waiting.get(endpointId) ?? mark;
      this.#waiting.delete(endpointId);
      if (mark !== undefined) await commitMark(this.#deps(), mark);
    });
  }
}

/** Sets the mark in the present record. A deleted endpoint and one with another URL stay as they are. */
function commitMark(deps: Deps, { endpointId, url, goneSince }: GoneMark): Promise<void> {
  return change(deps, async () => {
    const [endpoint] = (await findEndpoints(deps.store.db, [endpointId])).endpoints;
    const isGone = endpoint?.goneSince != null;
    if (endpoint === undefined || endpoint.url !== url || isGone === (goneSince !== null))
      return { transaction: null, value: undefined };
    const { id, version } = endpoint;
    const transaction = [{ op: "update", table: "endpoints", id, version, set: { goneSince } } as const];
    return { transaction, value: undefined };
  });
}
