/** Questions about addresses that a provider asks the engine. */

import type { ChosenWords } from "./opt-out.ts";

export interface AddressLookups {
  /** Whether an address is a number of any customer, on whatever instance. */
  isNumber: (address: string) => Promise<boolean>;
  /** The addresses of the message that this instance sent under a provider's reference; null if there is none. */
  findSent: (reference: string) => Promise<{ from: string; to: string } | null>;
  /** The opt-out words of the customer with the number `address`; the default ones if no customer has it. */
  optOutWordsAt: (address: string) => Promise<ChosenWords>;
}
