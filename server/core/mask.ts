/** Masks secrets in the paths and bodies of the request log, and shortens files in them. Pure. */

import { storable } from "./storable.ts";

/** Longest body in the log, in bytes of UTF-8. */
export const BODY_BYTES_MAX = 4_096;
/** How much of a body is looked at, in characters or bytes: a short file may be before the fields that people look for. */
export const SCANNED_MAX = 65_536;
/** Longest path in the log, in characters. */
const PATH_LENGTH_MAX = 2_048;
/** A text of Base64 that is longer is a file, and is shortened to its beginning. */
const FILE_LENGTH_MIN = 512;
const FILE_SHOWN = 32;

/** Replaces what is masked. */
export const MASK = "***";
/** At the end of a path of which the log has the beginning. */
const CUT = "…";
const SECRET_NAME =
  /^(?:key|sig|auth|pw|pass)$|secret|token|password|passwd|passphrase|pwd|authorization|credential|api[-_]?key|signature/i;
/** The same in free text, where `auth`, `sig` and `pass` are words like others. */
const SECRET_WORD = new RegExp(SECRET_NAME.source.replace("^(?:key|sig|auth|pw|pass)$", "\\bkey\\b"), "i");
/** A parameter of an address that only some peers use for a secret: `guid` is a Mac's password. In JSON it is an id. */
const SECRET_PARAMETER = /^guid$/i;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/** A body as the log keeps it. `isCut`: the text ends before the body did. */
export interface MaskedBody {
  text: string;
  isCut: boolean;
}

/** Masks the beginning of a body. `isWhole`: `scanned` is all of it. */
export function maskBody(scanned: string, isWhole: boolean): MaskedBody {
  const masked = storable(maskSecrets(scanned));
  const cut = cutTo(masked, BODY_BYTES_MAX);
  return { text: cut, isCut: !isWhole || cut.length < masked.length };
}

/** Masks secrets in the query of a path, and keys anywhere. Percent-encoded names and keys count like plain ones. */
export function maskPath(path: string): string {
  const shown = path.length > PATH_LENGTH_MAX ? `${path.slice(0, PATH_LENGTH_MAX)}${CUT}` : path;
  const start = shown.indexOf("?");
  if (start === -1) return storable(maskEncoded(shown));
  return storable(maskValues(`${maskEncoded(shown.slice(0, start))}?${maskPairs(shown.slice(start + 1))}`));
}

/** Whether the log has the beginning of a path only. */
export function isPathCut(path: string): boolean {
  return path.endsWith(CUT);
}

/** Masks the pairs of a query or a form. */
function maskPairs(pairs: string): string {
  return pairs.replace(/([^&=]*)(=?)([^&]*)/g, (_, name: string, equals: string, value: string) => {
    const isSecret = equals !== "" && isSecretParameter(name);
    return `${maskEncoded(name)}${equals}${isSecret ? MASK : maskEncoded(value)}`;
  });
}

/** The text as it is, or decoded if only the decoded text shows what has to be masked. */
function maskEncoded(text: string): string {
  if (!text.includes("%")) return maskValues(text);
  const plain = decodePercent(text);
  const masked = maskValues(plain);
  return masked === plain ? maskValues(text) : masked;
}

/** How often a text may be encoded: an address in the query of an address in the query of an address. */
export const ENCODINGS_MAX = 3;

/** Decodes the characters of ASCII, also if they are encoded up to three times. A text that is cut or badly encoded stays. */
export function decodePercent(text: string): string {
  let decoded = text;
  for (let round = 0; round < ENCODINGS_MAX && decoded.includes("%"); round += 1) {
    decoded = decoded.replace(/%([0-7][0-9a-f])/gi, (_, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    );
  }
  return decoded;
}

/** Whether a parameter of an address holds a secret, by its name. */
function isSecretParameter(name: string): boolean {
  const plain = decodePercent(name);
  return SECRET_NAME.test(plain) || SECRET_PARAMETER.test(plain);
}

const LITERAL = /^(?:null|true|false)$/;
/** A number or a literal, also the beginning of a literal: the last value may have no end. */
const BARE_VALUE = /^(?:-?[\d.eE+-]+|n(?:u(?:l(?:l)?)?)?|t(?:r(?:u(?:e)?)?)?|f(?:a(?:l(?:s(?:e)?)?)?)?)$/;
const FORM = /^[\w.~*+%[\]-]+=[^\s"'{}<>&]*(?:&[\w.~*+%[\]-]+=[^\s"'{}<>&]*)*$/;

/** Masks the values of secret fields by their names in JSON, which may be cut, and in forms. Of other text the part before a secret name stays. */
function maskSecrets(text: string): string {
  if (FORM.test(text)) return maskPairs(text);
  let shown = "";
  let from = 0;
  let depth = 0;
  let isSecret = false;
  /** The depth at which a secret list or object began. */
  let hiddenFrom = Number.NaN;
  let before = START;
  let lastString = 0;
  const isPlain = !text.includes("\\") && !SUSPECT.test(text);
  const replace = (start: number, end: number, by: string) => {
    shown += text.slice(from, start) + by;
    from = end;
  };
  for (let index = skipSpace(text, 0); index < text.length; ) {
    const code = text.charCodeAt(index);
    const end = endOfPart(text, index, code);
    const isHidden = depth > hiddenFrom;
    if (!follows(before, code) || (isBare(code) && !BARE_VALUE.test(text.slice(index, end)))) {
      // No JSON from here on, so that no name belongs to its value for certain.
      if (isHidden) return shown;
      if (isSecret) return `${shown}${text.slice(from, index)}"${MASK}"`;
      // The last string may have begun at the end of another one.
      const start = Math.max(from, lastString);
      return shown + text.slice(from, start) + maskFreeText(text.slice(start));
    }
    if (code === QUOTE) {
      lastString = index;
      if (!isHidden) {
        const part = text.slice(index, end);
        const isName = before !== COLON && text.charCodeAt(skipSpace(text, end)) === COLON;
        const masked = isSecret && !isName ? `"${MASK}"` : maskString(part, isPlain);
        if (isName) isSecret = SECRET_NAME.test(decodeString(part.slice(1, -1)));
        if (masked !== part) replace(index, end, masked);
      }
    } else if (code === OPEN_OBJECT || code === OPEN_LIST) {
      if (!isHidden && isSecret) {
        hiddenFrom = depth;
        replace(index, end, `"${MASK}"`);
      }
      isSecret = false;
      depth += 1;
    } else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
      if (hiddenFrom === depth) {
        hiddenFrom = Number.NaN;
        from = end;
      }
    } else if (code === COMMA) isSecret = false;
    else if (isSecret && isBare(code) && !LITERAL.test(text.slice(index, end))) replace(index, end, `"${MASK}"`);
    before = code;
    index = skipSpace(text, end);
  }
  return depth > hiddenFrom ? shown : shown + text.slice(from);
}

const START = 0;
const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_LIST = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** Whether a part that begins with this code is neither a string nor punctuation. */
function isBare(code: number): boolean {
  return code !== QUOTE && code !== COMMA && code !== COLON && !isBracket(code);
}

function isBracket(code: number): boolean {
  return code === OPEN_LIST || code === CLOSE_LIST || code === OPEN_OBJECT || code === CLOSE_OBJECT;
}

/** Whether JSON may have a part that begins with `code` after one that began with `before`; looks at neighbours only. */
function follows(before: number, code: number): boolean {
  const isOpen = before === OPEN_OBJECT || before === OPEN_LIST;
  const isAfterValue = !isOpen && before !== START && before !== COMMA && before !== COLON;
  if (code === COMMA) return isAfterValue;
  if (code === CLOSE_OBJECT || code === CLOSE_LIST) return isAfterValue || isOpen;
  return code === COLON ? before === QUOTE : !isAfterValue;
}

function skipSpace(text: string, from: number): number {
  let index = from;
  for (; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) break;
  }
  return index;
}

function endOfPart(text: string, from: number, code: number): number {
  if (code === QUOTE) return endOfString(text, from);
  if (!isBare(code)) return from + 1;
  for (let index = from + 1; index < text.length; index += 1) {
    if (!isBare(text.charCodeAt(index)) || skipSpace(text, index) > index) return index;
  }
  return text.length;
}

/** Behind the closing quote; the last string of a cut text has none. */
function endOfString(text: string, from: number): number {
  for (let end = text.indexOf('"', from + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Text that is neither JSON nor a form: nothing after the first secret name stays, however the name is written. */
function maskFreeText(text: string): string {
  const plain = decodeString(decodePercent(text)).replaceAll("\0", "");
  if (!SECRET_WORD.test(plain)) return maskValues(plain) === plain ? maskValues(text) : maskValues(plain);
  const starts = [text.search(SECRET_WORD), plain === text ? -1 : text.search(/[%\\\0]/)];
  const start = Math.min(...starts.filter((at) => at >= 0));
  return maskValues(`${text.slice(0, start)}${MASK}`);
}

/** Masks what a string shows, and shortens files. `isPlain`: it shows nothing. */
function maskString(quoted: string, isPlain: boolean): string {
  if (isPlain && quoted.length <= FILE_LENGTH_MIN) return quoted;
  const isClosed = quoted.length > 1 && quoted.endsWith('"');
  const value = quoted.slice(1, isClosed ? -1 : undefined);
  if (value.length > FILE_LENGTH_MIN && BASE64.test(value)) {
    return `"${value.slice(0, FILE_SHOWN)}… (${value.length} characters)"`;
  }
  if (!quoted.includes("\\")) return maskValues(quoted);
  const plain = decodeString(value);
  const masked = JSON_INSIDE.test(plain) ? maskSecrets(plain) : maskValues(plain);
  return masked === plain ? maskValues(quoted) : JSON.stringify(masked);
}

/** A string that holds JSON of its own. */
const JSON_INSIDE = /^\s*[{[].*"\s*:/s;

const SHORT_ESCAPES: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Decodes the escapes of JSON. A string that is cut or has other escapes is decoded as far as possible. */
export function decodeString(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replace(/\\(?:u([0-9a-f]{4})|(.))/gis, (_, code: string | undefined, char: string) =>
    code === undefined ? (SHORT_ESCAPES[char] ?? char) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Whether there may be anything to mask. */
const SUSPECT = /tb[slb]?_|whsec_|:\/\/|\/hooks\/|\/inbox\/|\/attachments\/|[?&]|eyJ|bearer|basic/i;

/** The name of a parameter in an address. A hostile text takes no longer than others, since a name ends before the next `?`, `&` or `#`. */
const PARAMETER = /[?&#]([^\s"'=&?#]*)=/g;
const PARAMETER_END = /[\s"'&#]|$/g;

/** Masks the values of secret parameters in addresses, also of an address that is encoded in the value of another parameter. */
function maskParameters(text: string, isInside = false): string {
  let shown = "";
  let from = 0;
  let seen = 0;
  for (const { 0: matched, 1: name = "", index } of text.matchAll(PARAMETER)) {
    const start = index + matched.length;
    // Each value is looked at once: parameters inside of it were masked with it.
    if (start < seen) continue;
    PARAMETER_END.lastIndex = start;
    const end = PARAMETER_END.exec(text)?.index ?? text.length;
    const value = text.slice(start, end);
    const isSecret = isSecretParameter(name);
    if (value === "" || (!isSecret && (isInside || !value.includes("%")))) continue;
    seen = end;
    const plain = isSecret ? value : decodePercent(value);
    const masked = isSecret ? MASK : maskParameters(plain, true);
    if (masked === plain) continue;
    shown += text.slice(from, start) + masked;
    from = end;
  }
  return shown + text.slice(from);
}

const PATH_TOKEN_LENGTH_MIN = 20;

/** Whether a part of a path opens an address without a key, such as that of a chat's webhook: it is long, and neither an id of the API nor a UUID. */
function isPathToken(part: string): boolean {
  if (part.length < PATH_TOKEN_LENGTH_MIN || part.length > PATH_LENGTH_MAX || !/^[\w-]+$/.test(part)) return false;
  return /\d/.test(part) && /[A-Za-z]/.test(part) && !/^(?:[a-z]+_)?[0-9a-f]{8}-[0-9a-f]{4}-/.test(part);
}

/** Masks the tokens in the paths of other services' addresses. */
function maskPaths(text: string): string {
  return text.replace(/(:\/\/[^\s"'/?#]*)(\/[^\s"'?#]*)/g, (_, host: string, path: string) => {
    const parts = path.split("/").map((part) => (isPathToken(part) ? MASK : part));
    return host + parts.join("/");
  });
}

/** Masks the tokens in the addresses of hooks and of the inbox of a sandbox. */
function maskHooks(text: string): string {
  if (!text.includes("/hooks/") && !text.includes("/sandbox/inbox/")) return text;
  const parts = text.split("/");
  for (let index = 3; index < parts.length; index += 1) {
    const [kind, owner = "", token = ""] = parts.slice(index - 2, index + 1);
    const isHook = kind === "hooks" && /^[^\s"'?#]+$/.test(owner);
    if (isHook || (kind === "sandbox" && owner === "inbox")) parts[index] = token.replace(/^[\w-]{16,}/, MASK);
  }
  return parts.join("/");
}

/** The beginning of a JSON Web Token, which has two points more. */
const TOKEN_START = /\beyJ[\w-]{8}/;

/**
 * Masks JSON Web Tokens in a run of word characters, dashes and points. It looks for one beginning between two points: a pattern of the
 * whole token would read to the next point from every beginning.
 */
function maskTokens(run: string): string {
  if (!run.includes("eyJ")) return run;
  const parts = run.split(".");
  const shown: string[] = [];
  for (let index = 0; index < parts.length; index += 1) {
    const part = parts[index] ?? "";
    const isFollowed = index + 2 < parts.length && parts[index + 1] !== "";
    const start = isFollowed ? part.search(TOKEN_START) : -1;
    shown.push(start === -1 ? part : part.slice(0, start) + MASK);
    if (start !== -1) index += 2;
  }
  return shown.join(".");
}

/** Masks keys, signing secrets, and what opens an address without a key. */
function maskValues(text: string): string {
  if (!SUSPECT.test(text)) return text;
  const masked = text
    .replace(/(tb[slb]?_)[A-Za-z0-9]{20}[A-Za-z0-9_-]*/g, `$1${MASK}`)
    .replace(/\b(tb[slb]?_)[A-Za-z0-9_-]+/g, `$1${MASK}`)
    .replace(/whsec_[A-Za-z0-9+/=_-]+/g, `whsec_${MASK}`)
    .replace(/\b(bearer|basic)( +)[A-Za-z0-9+/=._~-]{8,}/gi, `$1$2${MASK}`)
    .replace(/[\w.-]+/g, maskTokens)
    .replace(/(:\/\/)[^\s"'/?#@]+@/g, `$1${MASK}@`)
    .replace(/(\/attachments\/)[A-Za-z0-9_-]{51}(?![\w-])/g, `$1${MASK}`);
  return maskParameters(maskPaths(maskHooks(masked)));
}

/** The beginning of a text in at most so many bytes, without half a character. */
function cutTo(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text;
  const { written } = ENCODER.encodeInto(text, room.subarray(0, bytesMax));
  // A copy: a slice would keep the whole text in memory until the request is written.
  return room.toString("utf8", 0, written);
}

const ENCODER = new TextEncoder();
const room = Buffer.allocUnsafeSlow(BODY_BYTES_MAX);
