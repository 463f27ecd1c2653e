/** Addresses in paths: read as everywhere else, refused in words of their own. */

import { ApiError } from "../core/error.ts";
import { checkRecipient, parseAddress } from "../core/phone.ts";
import { quote } from "./pipeline/json.ts";

/** The address that the parameter `name` is, in the form it is stored in. Throws 400 `INVALID_PHONE_NUMBER`. */
export function addressParam(name: string, text: string): string {
  const parsed = parseAddress(text);
  if (parsed !== null) return parsed.address;
  const message = "must be a phone number in E.164 form, such as +15005550100, or an e-mail address";
  const details = [{ path: name, message }];
  throw new ApiError("INVALID_PHONE_NUMBER", `${name}: ${message}; got ${quote(text)}.`, { details });
}

/** As `addressParam`, of an address that a provider is asked about: one that nobody could have is refused too. */
export function reachableParam(name: string, text: string): string {
  const { address, problem } = checkRecipient(text);
  if (address !== null) return address;
  const details = [{ path: name, message: problem }];
  throw new ApiError("INVALID_PHONE_NUMBER", `${name}: ${problem}; got ${quote(text)}.`, { details });
}
