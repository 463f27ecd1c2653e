/** Finds a person in the texts of a logged request, and erases the request. Pure. Each character is looked at a bounded number of times. */

import { ERASED } from "./erasure.ts";
import type { LoggedRequest } from "./logged-request.ts";
import { decodePercent, decodeString, ENCODINGS_MAX, isPathCut, MASK } from "./mask.ts";

/** The parts of a logged request that may name a person. */
export type LoggedTexts = Pick<LoggedRequest, "path" | "route" | "request" | "response" | "requestCut" | "responseCut">;

/** An erased person. `ids`: of the person's contact, messages, threads, calls and payment requests. */
export interface Person {
  addresses: readonly string[];
  ids: ReadonlySet<string>;
}

/** Texts without their escapes, and the ids in them of records that may belong to a person. */
interface PlainText {
  plain: string;
  ids: readonly string[];
}

/** A logged request, with its texts one after the other. */
export interface ReadRequest<Texts extends LoggedTexts = LoggedTexts> extends PlainText {
  texts: Texts;
}

/** Reads the texts of a request once, to look for people in them. */
export function readRequest<Texts extends LoggedTexts>(texts: Texts): ReadRequest<Texts> {
  const { path, request, response } = texts;
  return { texts, ...plainOf([path, request ?? "", response ?? ""]) };
}

/**
 * Whether a request names the person: by an address or an id in its path or in a body. The address of a phone counts with and without
 * its plus, with blanks, points, hyphens and brackets between the digits, and after 00 or 011, but not without its country code; an
 * e-mail address counts in any case. Both count if they are escaped in JSON or percent-encoded, also several times. A request whose
 * path or body was cut may have lost the address: it counts too, whatever its route, except for `isOperatorRoute`.
 */
export function isAboutPerson(request: ReadRequest, person: Person): boolean {
  return isUnknown(request.texts) || names(request, person);
}

function isUnknown({ path, route, requestCut, responseCut }: LoggedTexts): boolean {
  return (requestCut || responseCut || isPathCut(path)) && !isOperatorRoute(route);
}

/** Whether requests on a route name nobody but the operator's own records. A request that was refused before it had a route may name people. */
function isOperatorRoute(route: string | null): boolean {
  return route?.startsWith("/v1/admin/") === true && !route.startsWith("/v1/admin/held");
}

const ID = /(?:msg|chat|con|call|pay)_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/**
 * The texts of a request without its bodies. `"erased"` stands for each of them. In the path, parts that name the person are masked, and
 * the values of the query, since a search may quote a text.
 */
export function erasedTexts(texts: LoggedTexts, person: Person): LoggedTexts {
  const { path, route, request, response } = texts;
  const masked = erasedPath(path, person);
  return {
    path: names(plainOf([masked]), person) ? MASK : masked,
    route,
    request: request === null ? null : ERASED_BODY,
    response: response === null ? null : ERASED_BODY,
    requestCut: false,
    responseCut: false,
  };
}

/** Stands for a body that was erased: JSON, as bodies are. */
const ERASED_BODY = JSON.stringify(ERASED);

function erasedPath(path: string, person: Person): string {
  const start = path.indexOf("?");
  const parts = (start === -1 ? path : path.slice(0, start)).split("/");
  const shown = parts.map((part) => maskPart(part, person)).join("/");
  if (start === -1) return shown;
  const pairs = path.slice(start + 1).split("&");
  return `${shown}?${pairs.map((pair) => maskPair(pair, person)).join("&")}`;
}

function maskPair(pair: string, person: Person): string {
  const equals = pair.indexOf("=");
  if (equals === -1) return maskPart(pair, person);
  return `${maskPart(pair.slice(0, equals), person)}=${MASK}`;
}

/** A cut part may have lost the rest of an address. */
function maskPart(part: string, person: Person): string {
  return isPathCut(part) || names(plainOf([part]), person) ? MASK : part;
}

function plainOf(texts: readonly string[]): PlainText {
  const plain = texts.map(unescaped).join("\n");
  return { plain, ids: plain.match(ID) ?? [] };
}

/** A text without its escapes: a body may hold JSON as a string, or an address of HTTP that holds another one. */
function unescaped(text: string): string {
  let plain = text;
  for (let round = 0; round < ENCODINGS_MAX; round += 1) {
    const before = plain;
    plain = decodeString(decodePercent(before));
    if (plain === before) break;
  }
  return plain;
}

function names({ plain, ids }: PlainText, { addresses, ids: theirs }: Person): boolean {
  if (ids.some((id) => theirs.has(id))) return true;
  const lower = plain.toLowerCase();
  return addresses.some((address) => (address.startsWith("+") ? hasNumber(lower, address) : hasEmail(lower, address)));
}

/** Characters that people write between the digits of a number; a plus is a blank in a form. */
const BETWEEN = new Set([..." \u00a0\u2009\u202f\t+.()-\u2010\u2011\u2012\u2013\u2014\u2212"].map(codeOf));
/** Such characters between two digits of one number. */
const BETWEEN_MAX = 3;
/** Digits before a number that is written without its plus. */
const PREFIXES: ReadonlySet<string> = new Set(["", "00", "011"]);
const PREFIX_MAX = 3;

/** Whether a text has a number in E.164. Each beginning of a number is followed for as many digits as it may have. */
function hasNumber(text: string, address: string): boolean {
  const digits = address.slice(1);
  const first = digits.charAt(0);
  for (let at = text.indexOf(first); at !== -1; at = text.indexOf(first, at + 1))
    if (continuesWith(text, at, digits) && beginsNumber(text, at)) return true;
  return false;
}

function beginsNumber(text: string, at: number): boolean {
  let start = at;
  while (start > 0 && at - start <= PREFIX_MAX && isDigit(text.charCodeAt(start - 1))) start -= 1;
  return PREFIXES.has(text.slice(start, at));
}

function continuesWith(text: string, from: number, digits: string): boolean {
  let at = from;
  for (let index = 0; index < digits.length; index += 1, at += 1) {
    if (index > 0) for (let many = 0; many < BETWEEN_MAX && BETWEEN.has(text.charCodeAt(at)); many += 1) at += 1;
    if (text.charCodeAt(at) !== digits.charCodeAt(index)) return false;
  }
  return !isDigit(text.charCodeAt(at));
}

function codeOf(character: string): number {
  return character.charCodeAt(0);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** Characters that make the text before an e-mail address, or behind it, part of another one. */
const BEFORE_EMAIL = /[a-z0-9._%+-]/;
const BEHIND_EMAIL = /^(?:[a-z0-9-]|\.[a-z0-9])/;

function hasEmail(lower: string, address: string): boolean {
  const email = address.toLowerCase();
  for (let at = lower.indexOf(email); at !== -1; at = lower.indexOf(email, at + 1)) {
    const end = at + email.length;
    const isWhole = !BEFORE_EMAIL.test(lower.charAt(at - 1)) && !BEHIND_EMAIL.test(lower.slice(end, end + 2));
    if (isWhole) return true;
  }
  return false;
}
