/** Questions about addresses that a provider asks the engine. */

export interface AddressLookups {
  /** Whether an address is a number of any customer, on whatever instance. */
  isNumber: (address: string) => Promise<boolean>;
  /** The addresses of the message that this instance sent under a provider's reference; null if there is none. */
  findSent: (reference: string) => Promise<{ from: string; to: string } | null>;
}
