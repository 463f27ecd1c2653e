/** A wake: one process of a database tells another one which work has become due there. */

import type { DeliveryId, InstanceId } from "./id.ts";

/** Where a process takes wakes. */
export const WAKE_PATH = "/members/wake";

/** The lanes that may have something due: instances for messages, lanes of deliveries, and deliveries among these that a person asks for. */
export interface MemberWake {
  messages: InstanceId[];
  deliveries: string[];
  atOnce: DeliveryId[];
}

/** The wake as the body of a request. `"all"`: any lane may have something due. */
export function wakeText(wake: MemberWake | "all"): string {
  return JSON.stringify(wake);
}

/** Reads the body of a wake; null if it has another form. */
export function readWake(text: string): MemberWake | "all" | null {
  try {
    const wake: unknown = JSON.parse(text);
    return wake === "all" || isWake(wake) ? wake : null;
  } catch {
    return null;
  }
}

function isWake(value: unknown): value is MemberWake {
  const { messages, deliveries, atOnce } = (value ?? {}) as Partial<Record<keyof MemberWake, unknown>>;
  return [messages, deliveries, atOnce].every(
    (names) => Array.isArray(names) && names.every((name) => typeof name === "string"),
  );
}
