/** Settings of the sandbox's phones, per customer and phone, in the instance's memory. */

import type { PhoneSettings } from "../../../sdk/wire.ts";
import { ApiError } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import { Journal } from "../kit/journal.ts";
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
  readonly #set: Journal<Partial<PhoneSettings>>;

  constructor(memory: Memory) {
    this.#set = new Journal({ memory, prefix: PREFIX, format: JSON.stringify, parse, max: SET_MAX });
  }

  /** Reads the settings that the previous process stored. */
  load(): Promise<void> {
    return this.#set.load();
  }

  of(customerId: CustomerId, number: string): PhoneSettings {
    const defaults = defaultSettings(number);
    return this.#set.size === 0 ? defaults : { ...defaults, ...this.#set.get(nameOf(customerId, number)) };
  }

  /** Changes the given settings. Throws a 503 at the limit, and any error of the memory. */
  async change(customerId: CustomerId, number: string, settings: Partial<PhoneSettings>): Promise<PhoneSettings> {
    const name = nameOf(customerId, number);
    const before = this.#set.get(name);
    if (before === null && this.#set.size >= SET_MAX) {
      throw new ApiError(
        "SERVICE_UNAVAILABLE",
        `The sandbox holds settings of ${SET_MAX} phones already; reset the phones of a customer.`,
      );
    }
    const after = { ...before, ...settings };
    this.#set.set(name, after);
    try {
      await this.#set.save(name);
    } catch (error) {
      if (this.#set.get(name) !== after) throw error;
      if (before === null) this.#set.drop(name);
      else this.#set.set(name, before);
      throw error;
    }
    return this.of(customerId, number);
  }

  /** Restores the default settings of a customer's phones. */
  async reset(customerId: CustomerId): Promise<void> {
    const names = [...this.#set].map(([name]) => name).filter((name) => name.startsWith(nameOf(customerId, "")));
    await Promise.all(names.map((name) => this.#set.delete(name)));
  }
}

function nameOf(customerId: CustomerId, number: string): string {
  return `${customerId}/${number}`;
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
