/** Reads addresses in paths. */

import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import { parseAddress } from "../core/phone.ts";
import type { Deps } from "../engine/deps.ts";
import { checkKnownRecipient } from "../engine/messages/recipient.ts";
import { quote } from "./pipeline/json.ts";

/** The address of the path parameter `name`, in the form in which it is stored. Throws 400 `INVALID_PHONE_NUMBER`. */
export function addressParam(name: string, text: string): string {
  const parsed = parseAddress(text);
  if (parsed !== null) return parsed.address;
  const message = "must be a phone number in E.164 form, such as +15005550100, or an e-mail address";
  const details = [{ path: name, message }];
  throw new ApiError("INVALID_PHONE_NUMBER", `${name}: ${message}; got ${quote(text)}.`, { details });
}

/** Like `addressParam`, for an address that a provider looks up for the customer: also refuses numbers that nobody can have. */
export async function reachableParam(
  deps: Deps,
  customerId: CustomerId,
  [name, text]: readonly [name: string, text: string],
): Promise<string> {
  const { address, problem } = await checkKnownRecipient(deps, customerId, text);
  if (address !== null) return address;
  const details = [{ path: name, message: problem }];
  throw new ApiError("INVALID_PHONE_NUMBER", `${name}: ${problem}; got ${quote(text)}.`, { details });
}
