/** How customers set the sandbox's phones: kept in the instance's memory, each phone apart for each customer. */

import type { PhoneSettings } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Memory } from "../provider.ts";
import { defaultSettings } from "./phones.ts";

/** How a phone is set for a customer. */
export type SettingsOf = (customerId: CustomerId, number: string) => PhoneSettings;

/** Every key of a phone that was set begins with it; then come customer and number. */
const PREFIX = "phone/";

/** Phones that may be set otherwise than by default, all customers together. */
const SET_MAX = 10_000;

/** The phones that were set, from `load` on. */
export class SandboxSettings {
  readonly #memory: Memory;
  readonly #set = new Map<string, Partial<PhoneSettings>>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Takes up what the last process left. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) this.#set.set(key, parse(value));
  }

  of(customerId: CustomerId, number: string): PhoneSettings {
    return { ...defaultSettings(number), ...this.#set.get(keyOf(customerId, number)) };
  }

  /** Sets what `settings` names. Throws a 503 when too many phones are set, and what the memory throws. */
  async change(customerId: CustomerId, number: string, settings: Partial<PhoneSettings>): Promise<PhoneSettings> {
    const key = keyOf(customerId, number);
    const before = this.#set.get(key);
    if (before === undefined && this.#set.size >= SET_MAX) {
      throw new ApiError("SERVICE_UNAVAILABLE", `${SET_MAX} phones of the sandbox are set; reset those of a customer.`);
    }
    const after = { ...before, ...settings };
    this.#set.set(key, after);
    try {
      await this.#memory.put(key, JSON.stringify(after));
    } catch (error) {
      if (this.#set.get(key) === after) this.#put(key, before);
      throw error;
    }
    return this.of(customerId, number);
  }

  #put(key: string, value: Partial<PhoneSettings> | undefined): void {
    if (value === undefined) this.#set.delete(key);
    else this.#set.set(key, value);
  }

  /** Forgets how a customer set its phones. */
  async reset(customerId: CustomerId): Promise<void> {
    const keys = [...this.#set.keys()].filter((key) => key.startsWith(keyOf(customerId, "")));
    for (const key of keys) this.#set.delete(key);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
  }
}

function keyOf(customerId: CustomerId, number: string): string {
  return `${PREFIX}${customerId}/${number}`;
}

/** What a value sets. One that cannot be read (another version wrote it) sets nothing. */
function parse(text: string): Partial<PhoneSettings> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? pick(value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

function pick(value: Record<string, unknown>): Partial<PhoneSettings> {
  const defaults: PhoneSettings = defaultSettings("");
  const known = Object.entries(defaults).filter(([name, usual]) => typeof value[name] === typeof usual);
  return Object.fromEntries(known.map(([name]) => [name, value[name]]));
}
