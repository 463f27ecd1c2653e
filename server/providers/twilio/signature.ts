/** Verifies `X-Twilio-Signature`, before anything in a request to the hook is believed. Pure. */

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { parse, stringify } from "node:querystring";

/** The parameters of a form, each with all its values in order. */
export type Parameters = ReadonlyMap<string, readonly string[]>;

/** The signed parts of a request. `url` is the whole address as configured at Twilio. */
export interface SignedRequest {
  url: string;
  signature: string;
  parameters: Parameters;
  body: Uint8Array;
}

const NO_PARAMETERS: Parameters = new Map();
const BODY_HASH = "bodySHA256";

/**
 * Whether `authToken` signed the request: its address and its parameters or, if the address has `bodySHA256`, the
 * address alone, which then contains the body's hash.
 */
export function isSignedBy(authToken: string, { url, signature, parameters, body }: SignedRequest): boolean {
  const hash = URL.parse(url)?.searchParams.get(BODY_HASH) ?? null;
  if (hash === null) return isSignature(authToken, url, signature, parameters);
  const isBody = isEqual(hash, createHash("sha256").update(body).digest("hex"));
  return isSignature(authToken, url, signature, NO_PARAMETERS) && isBody;
}

function isSignature(authToken: string, url: string, signature: string, parameters: Parameters): boolean {
  const signed = textOf(parameters);
  return candidates(url).some((address) =>
    isEqual(signature, createHmac("sha1", authToken).update(address).update(signed).digest("base64")),
  );
}

/** Names and values, sorted by name. The values of a repeated name are sorted too, and each counts once. */
function textOf(parameters: Parameters): string {
  const names = [...parameters.keys()].sort();
  return names
    .map((name) =>
      sortedValues(parameters, name)
        .map((value) => name + value)
        .join(""),
    )
    .join("");
}

function sortedValues(parameters: Parameters, name: string): string[] {
  return [...new Set(parameters.get(name))].sort();
}

/**
 * The forms of an address that Twilio may have signed: as configured, without and with its port; then as a parser
 * writes it, and with its query encoded again.
 */
function candidates(url: string): string[] {
  const written = URL.parse(url)?.toString() ?? url;
  const forms = [withoutPort(url), withPort(url), withoutPort(written), withPort(written)];
  return [...forms, requoted(withoutPort(written)), requoted(withPort(written))];
}

const ADDRESS = /^([a-z][a-z0-9+.-]*:\/\/)((?:[^/?#]*@)?)(\[[^\]/?#]*\]|[^:/?#]*)(:[^/?#]*)?(.*)$/is;

function withoutPort(url: string): string {
  const [, scheme = "", user = "", host = "", , rest = ""] = ADDRESS.exec(url) ?? [];
  return scheme === "" ? url : `${scheme}${user}${host}${rest}`;
}

function withPort(url: string): string {
  const [, scheme = "", user = "", host = "", port = "", rest = ""] = ADDRESS.exec(url) ?? [];
  if (scheme === "" || port !== "") return url;
  return `${scheme}${user}${host}${scheme.toLowerCase() === "https://" ? ":443" : ":80"}${rest}`;
}

function requoted(url: string): string {
  const start = url.indexOf("?");
  return start < 0 || start === url.length - 1
    ? url
    : `${url.slice(0, start)}?${stringify(parse(url.slice(start + 1)))}`;
}

function isEqual(given: string, right: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Parses an `application/x-www-form-urlencoded` body. */
export function parametersOf(body: Uint8Array): Parameters {
  const parameters = new Map<string, string[]>();
  // After an ampersand, since a leading question mark would be dropped as the start of a query.
  for (const [name, value] of new URLSearchParams(`&${Buffer.from(body).toString("utf8")}`)) {
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else values.push(value);
  }
  return parameters;
}
