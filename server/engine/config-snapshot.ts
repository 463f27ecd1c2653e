/**
 * Compares the configuration that this process caches with the database, which other processes change too, and has the parts that
 * changed dropped. On an embedded database nobody else changes it: it is always current.
 */

import { RepeatingTask } from "../core/repeating-task.ts";
import type { Member } from "../store/members.ts";
import { CONFIG_PARTS, type ConfigPart, type ConfigVersions } from "../store/shared-database.ts";
import type { Deps } from "./deps.ts";

/** Time between two comparisons, in real milliseconds. */
const COMPARE_EVERY_MS = 500;
/** A configuration that was compared longer ago, in real milliseconds, is not current. */
export const CURRENT_MS_MAX = 1_000;

/** Applies a change that another process may have made to a part. It is called again if it throws. */
export type ConfigListeners = Readonly<Record<ConfigPart, () => void | Promise<void>>>;

/** Resolves when the other processes that send webhooks have compared the configuration, so that they have what was committed before. */
export async function waitForSenders({ clock }: Pick<Deps, "clock">, others: readonly Member[]): Promise<void> {
  if (others.every(({ role }) => role === "api")) return;
  await new Promise<void>((resolve) => void clock.after(CURRENT_MS_MAX, resolve));
}

export class ConfigSnapshot {
  readonly #deps: Pick<Deps, "store" | "clock" | "observer">;
  readonly #listeners: ConfigListeners;
  readonly #versions = new Map<ConfigPart, number>();
  /** When the last comparison that was applied began, by the monotonic clock. */
  #comparedAt = Number.NEGATIVE_INFINITY;
  readonly #comparisons: RepeatingTask;

  constructor(deps: Pick<Deps, "store" | "clock" | "observer">, listeners: ConfigListeners) {
    this.#deps = deps;
    this.#listeners = listeners;
    this.#comparisons = new RepeatingTask({
      clock: deps.clock,
      run: () => this.#compare(),
      fault: (error) => deps.observer.fault("config-snapshot", error),
      retryMs: COMPARE_EVERY_MS,
    });
  }

  /**
   * Whether caches have every change that was committed more than `CURRENT_MS_MAX` ago. If not, keys and opt-outs are read from
   * the database.
   */
  get isCurrent(): boolean {
    const { clock, store } = this.#deps;
    return store.shared === null || clock.monotonic() - this.#comparedAt <= CURRENT_MS_MAX;
  }

  /** Compares once, and then again and again until `stop`. Rejects if the first comparison fails. */
  async start(): Promise<void> {
    if (this.#deps.store.shared === null) return;
    this.#comparisons.schedule(await this.#compare());
  }

  /** Compares no more, and resolves when the comparison in progress has ended. */
  stop(): Promise<void> {
    return this.#comparisons.stop();
  }

  /** Resolves with the time until the next comparison. */
  async #compare(): Promise<number> {
    const { clock, store } = this.#deps;
    const beganAt = clock.monotonic();
    const versions = await store.shared?.configVersions();
    if (versions === undefined) return COMPARE_EVERY_MS;
    await Promise.all(CONFIG_PARTS.map((part) => this.#apply(part, versions)));
    this.#comparedAt = beganAt;
    return COMPARE_EVERY_MS;
  }

  async #apply(part: ConfigPart, versions: ConfigVersions): Promise<void> {
    if (this.#versions.get(part) === versions[part]) return;
    await this.#listeners[part]();
    this.#versions.set(part, versions[part]);
  }
}
