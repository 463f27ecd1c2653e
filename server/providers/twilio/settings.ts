/** What an administrator sets for a Twilio instance, and who can reach whom. Pure. */

import { checkAddress, parseAllowList } from "../../core/address.ts";

/** Where Twilio's own API is. */
const BASE_URL = "https://api.twilio.com";

export interface TwilioSettings {
  accountSid: string;
  /** Opens the API, and signs what Twilio tells us. */
  authToken: string;
  messagingServiceSid: string | null;
  /** Of the API, without a slash at its end. */
  baseUrl: string;
}

/** The settings of an instance; they were checked when they were made. */
export function readSettings(config: Readonly<Record<string, unknown>>): TwilioSettings {
  const { accountSid, authToken, messagingServiceSid, baseUrl } = config;
  return {
    accountSid: String(accountSid),
    authToken: String(authToken),
    messagingServiceSid: typeof messagingServiceSid === "string" ? messagingServiceSid : null,
    baseUrl: (typeof baseUrl === "string" ? baseUrl : BASE_URL).replace(/\/+$/, ""),
  };
}

const NOTHING_OPEN = parseAllowList("");

/** Whether an address is HTTPS at a public name or number, as far as it can be seen without looking it up. */
function isPublicUrl(url: string): boolean {
  return checkAddress(url, NOTHING_OPEN) === null;
}

/**
 * Whether the peer can come to `url` of ours. What offers the same API inside one's own network may use an address of that
 * network; Twilio may not.
 */
export function canBeReached(url: string, { baseUrl }: Pick<TwilioSettings, "baseUrl">): boolean {
  return isPublicUrl(url) || !isPublicUrl(baseUrl);
}
