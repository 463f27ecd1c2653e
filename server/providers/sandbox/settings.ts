/** Settings of the sandbox's phones, per customer and phone, in the instance's memory. */

import type { PhoneSettings } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Memory } from "../provider.ts";
import { defaultSettings } from "./phones.ts";

/** Returns the settings of a phone for a customer. */
export type SettingsOf = (customerId: CustomerId, number: string) => PhoneSettings;

/** Prefix of the keys of changed phones; customer and number follow. */
const PREFIX = "phone/";

/** Limit of changed phones over all customers. */
const SET_MAX = 10_000;

/** Settings that differ from the defaults. Call `load` first. */
export class SandboxSettings {
  readonly #memory: Memory;
  readonly #set = new Map<string, Partial<PhoneSettings>>();

  constructor(memory: Memory) {
    this.#memory = memory;
  }

  /** Reads the settings that the previous process stored. */
  async load(): Promise<void> {
    for (const { key, value } of await this.#memory.list(PREFIX)) this.#set.set(key, parse(value));
  }

  of(customerId: CustomerId, number: string): PhoneSettings {
    const defaults = defaultSettings(number);
    return this.#set.size === 0 ? defaults : { ...defaults, ...this.#set.get(keyOf(customerId, number)) };
  }

  /** Changes the given settings. Throws a 503 at the limit, and any error of the memory. */
  async change(customerId: CustomerId, number: string, settings: Partial<PhoneSettings>): Promise<PhoneSettings> {
    const key = keyOf(customerId, number);
    const before = this.#set.get(key);
    if (before === undefined && this.#set.size >= SET_MAX) {
      throw new ApiError(
        "SERVICE_UNAVAILABLE",
        `The sandbox holds settings of ${SET_MAX} phones already; reset the phones of a customer.`,
      );
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

  /** Restores the default settings of a customer's phones. */
  async reset(customerId: CustomerId): Promise<void> {
    const keys = [...this.#set.keys()].filter((key) => key.startsWith(keyOf(customerId, "")));
    for (const key of keys) this.#set.delete(key);
    await Promise.all(keys.map((key) => this.#memory.delete(key)));
  }
}

function keyOf(customerId: CustomerId, number: string): string {
  return `${PREFIX}${customerId}/${number}`;
}

/** Parses stored settings. A value that cannot be parsed (written by another version) counts as empty. */
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
