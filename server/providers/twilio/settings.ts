/** The settings of a Twilio instance, and whether Twilio can reach an address. Pure. */

import { checkAddress, parseAllowList } from "../../core/address.ts";
import { withoutTrailing } from "../../core/trim-end.ts";

/** Twilio's own API. */
const BASE_URL = "https://api.twilio.com";

export interface TwilioSettings {
  accountSid: string;
  /** Authenticates us at the API, and signs Twilio's requests. */
  authToken: string;
  messagingServiceSid: string | null;
  /** The API's address, without a trailing slash. */
  baseUrl: string;
  /** Whether Twilio answers no STOP and no HELP, so that the service does. */
  ownConfirmation: boolean;
}

/** Reads the settings; the schema has validated them. */
export function readSettings(config: Readonly<Record<string, unknown>>): TwilioSettings {
  const { accountSid, authToken, messagingServiceSid, baseUrl, ownConfirmation } = config;
  return {
    accountSid: String(accountSid),
    authToken: String(authToken),
    messagingServiceSid: typeof messagingServiceSid === "string" ? messagingServiceSid : null,
    baseUrl: withoutTrailing(typeof baseUrl === "string" ? baseUrl : BASE_URL, "/"),
    ownConfirmation: ownConfirmation === true,
  };
}

const NOTHING_OPEN = parseAllowList("");

/** Whether an address is HTTPS at a public name or IP address, judged without a DNS lookup. */
function isPublicUrl(url: string): boolean {
  return checkAddress(url, NOTHING_OPEN) === null;
}

/**
 * Whether the peer can reach our `url`. A compatible service inside our own network may use an address there; Twilio
 * may not.
 */
export function canBeReached(url: string, { baseUrl }: Pick<TwilioSettings, "baseUrl">): boolean {
  return isPublicUrl(url) || !isPublicUrl(baseUrl);
}
