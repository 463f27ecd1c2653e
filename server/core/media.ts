/** File types: the types that a message can carry, and the type of a file by its bytes, whatever its name. Pure. */

/** How a type is recognised: by its own magic bytes, as an archive or container of a family, or as text. */
type Family = "own" | "zip" | "ole" | "text";

interface MediaKind {
  /** Without a dot. */
  extension: string;
  family: Family;
}

/**
 * Types that can be sent as an attachment: those that Messages shows, plays or previews. The content must be one of these, or
 * for a family any type that its container may be declared as. No programs, no pages with scripts (HTML, SVG).
 */
const SENDABLE: Readonly<Record<string, MediaKind>> = {
  "image/jpeg": { extension: "jpg", family: "own" },
  "image/png": { extension: "png", family: "own" },
  "image/gif": { extension: "gif", family: "own" },
  "image/webp": { extension: "webp", family: "own" },
  "image/heic": { extension: "heic", family: "own" },
  "image/heif": { extension: "heif", family: "own" },
  "image/avif": { extension: "avif", family: "own" },
  "image/tiff": { extension: "tiff", family: "own" },
  "image/bmp": { extension: "bmp", family: "own" },
  "video/mp4": { extension: "mp4", family: "own" },
  "video/quicktime": { extension: "mov", family: "own" },
  "video/3gpp": { extension: "3gp", family: "own" },
  "video/webm": { extension: "webm", family: "own" },
  "video/x-matroska": { extension: "mkv", family: "own" },
  "video/x-msvideo": { extension: "avi", family: "own" },
  "video/mpeg": { extension: "mpg", family: "own" },
  "audio/mpeg": { extension: "mp3", family: "own" },
  "audio/mp4": { extension: "m4a", family: "own" },
  "audio/aac": { extension: "aac", family: "own" },
  "audio/x-caf": { extension: "caf", family: "own" },
  "audio/wav": { extension: "wav", family: "own" },
  "audio/aiff": { extension: "aiff", family: "own" },
  "audio/amr": { extension: "amr", family: "own" },
  "audio/ogg": { extension: "ogg", family: "own" },
  "audio/flac": { extension: "flac", family: "own" },
  "application/pdf": { extension: "pdf", family: "own" },
  "application/rtf": { extension: "rtf", family: "own" },
  "application/gzip": { extension: "gz", family: "own" },
  "text/vcard": { extension: "vcf", family: "own" },
  "text/calendar": { extension: "ics", family: "own" },
  "text/plain": { extension: "txt", family: "text" },
  "text/csv": { extension: "csv", family: "text" },
  "text/markdown": { extension: "md", family: "text" },
  "application/json": { extension: "json", family: "text" },
  "application/zip": { extension: "zip", family: "zip" },
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document": { extension: "docx", family: "zip" },
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": { extension: "xlsx", family: "zip" },
  "application/vnd.openxmlformats-officedocument.presentationml.presentation": { extension: "pptx", family: "zip" },
  "application/vnd.oasis.opendocument.text": { extension: "odt", family: "zip" },
  "application/vnd.oasis.opendocument.spreadsheet": { extension: "ods", family: "zip" },
  "application/vnd.apple.pages": { extension: "pages", family: "zip" },
  "application/vnd.apple.numbers": { extension: "numbers", family: "zip" },
  "application/vnd.apple.keynote": { extension: "key", family: "zip" },
  "application/vnd.apple.pkpass": { extension: "pkpass", family: "zip" },
  "application/epub+zip": { extension: "epub", family: "zip" },
  "model/vnd.usdz+zip": { extension: "usdz", family: "zip" },
  "application/msword": { extension: "doc", family: "ole" },
  "application/vnd.ms-excel": { extension: "xls", family: "ole" },
  "application/vnd.ms-powerpoint": { extension: "ppt", family: "ole" },
};

/** Aliases of types. */
const ALIASES: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
  "image/x-ms-bmp": "image/bmp",
  "image/heic-sequence": "image/heic",
  "image/heif-sequence": "image/heif",
  "video/x-m4v": "video/mp4",
  "video/3gpp2": "video/3gpp",
  "video/avi": "video/x-msvideo",
  "audio/mp3": "audio/mpeg",
  "audio/m4a": "audio/mp4",
  "audio/x-m4a": "audio/mp4",
  "audio/caf": "audio/x-caf",
  "audio/x-wav": "audio/wav",
  "audio/wave": "audio/wav",
  "audio/vnd.wave": "audio/wav",
  "audio/x-aiff": "audio/aiff",
  "audio/x-aac": "audio/aac",
  "audio/opus": "audio/ogg",
  "audio/x-flac": "audio/flac",
  "application/x-pdf": "application/pdf",
  "text/rtf": "application/rtf",
  "application/x-gzip": "application/gzip",
  "application/x-zip-compressed": "application/zip",
  "text/x-vcard": "text/vcard",
  "text/directory": "text/vcard",
  "application/xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
};

/** Types with the same container format: audio and video. */
const ALIKE: readonly (readonly string[])[] = [
  ["video/mp4", "audio/mp4", "video/quicktime", "video/3gpp"],
  ["image/heic", "image/heif"],
  ["video/webm", "video/x-matroska"],
  ["audio/mpeg", "audio/aac"],
];

/** The type of an unrecognised file. */
const UNKNOWN_TYPE = "application/octet-stream";

/** A type and subtype (RFC 6838), without parameters. */
const MIME_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/** A type named by a caller or a provider, normalized; null if it is not a type. */
export function mimeTypeOf(text: string): string | null {
  const type = (text.split(";", 1)[0] ?? "").trim().toLowerCase();
  if (!MIME_TYPE.test(type)) return null;
  return ALIASES[type] ?? type;
}

/** Whether the type is an image type. */
export function isImage(mimeType: string): boolean {
  return mimeType.startsWith("image/");
}

/** Whether a voice message can have the type. */
export function isAudio(mimeType: string): boolean {
  return mimeType.startsWith("audio/");
}

/** A name for a file without one: `attachment-1.jpg`. */
export function defaultFilename(mimeType: string, number: number): string {
  return `attachment-${number}.${SENDABLE[mimeType]?.extension ?? "bin"}`;
}

/** The type of a file to send, or why it cannot be sent, as the end of an error message. */
export type MediaVerdict = { mimeType: string } | { refused: string; field: "data" | "mimeType" };

/**
 * The type of a file to send, by its bytes. The declared type decides only between types with the same bytes (a
 * document and its archive, audio and video). A declared type that the bytes contradict is refused.
 */
export function checkMedia(bytes: Uint8Array, declared: string | null): MediaVerdict {
  if (bytes.length === 0) return { refused: "is empty", field: "data" };
  const found = sniff(bytes);
  if (found === null || SENDABLE[found] === undefined) {
    const content = found ?? "of no kind that is known here";
    return { refused: `is ${content}, which cannot be sent; ${WHAT_CAN}`, field: "data" };
  }
  const named = declared === null ? UNKNOWN_TYPE : mimeTypeOf(declared);
  if (named === UNKNOWN_TYPE) return { mimeType: found };
  if (named !== null && isOf(named, found)) return { mimeType: named };
  const shown = quoted(declared ?? "");
  return { refused: `is ${shown}, but the file is ${found}; correct it or leave it out`, field: "mimeType" };
}

const WHAT_CAN =
  "images, video, audio, PDF, vCard, calendar, text, office documents and zip archives can (no programs, HTML or SVG)";

/** Why a declared type cannot be sent, whatever the bytes; null if it can. */
export function refuseType(declared: string): string | null {
  const named = mimeTypeOf(declared);
  if (named === null) return `is ${quoted(declared)}, which is no media type; write one such as image/jpeg`;
  if (SENDABLE[named] !== undefined || named === UNKNOWN_TYPE) return null;
  return `is ${named}, which cannot be sent; ${WHAT_CAN}`;
}

/** Why a file of this type cannot be an audio message. */
export function notAudio(mimeType: string): string {
  return `is true, but the file is ${mimeType}; only audio can be sent as an audio message`;
}

function quoted(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

/**
 * The type of a received file: by its bytes if they are known and recognised, otherwise as declared.
 * An unknown type is `application/octet-stream`.
 */
export function typeOfReceived(bytes: Uint8Array | null, declared: string | null): string {
  const named = declared === null ? null : mimeTypeOf(declared);
  const found = bytes === null ? null : sniff(bytes);
  if (found === null) return named ?? UNKNOWN_TYPE;
  return named !== null && isOf(named, found) ? named : found;
}

/** Whether a file with the type `found` by its bytes may be declared as `named`. */
function isOf(named: string, found: string): boolean {
  if (named === found) return true;
  if (ALIKE.some((types) => types.includes(named) && types.includes(found))) return true;
  // Any readable text may be declared as plain text.
  if (named === "text/plain") return found.startsWith("text/") && SENDABLE[found] !== undefined;
  const family = SENDABLE[found]?.family ?? "own";
  if (family === "own" || SENDABLE[named]?.family !== family) return false;
  // A container with recognised content may be declared only as this content or as the container itself.
  return BARE.has(found) || BARE.has(named);
}

/** The types of containers whose content is not recognised. */
const BARE: ReadonlySet<string> = new Set(["application/zip", "application/msword", "text/plain"]);

interface Magic {
  mimeType: string;
  /** Bytes as Latin-1 text. */
  bytes: string;
  /** Whether a text may also begin with these bytes: then they count only if a NUL follows. */
  binary?: true;
}

/** Magic bytes at fixed offsets. The first match counts. */
const MAGIC: readonly Magic[] = [
  { mimeType: "image/jpeg", bytes: "\xff\xd8\xff" },
  { mimeType: "image/png", bytes: "\x89PNG\r\n\x1a\n" },
  { mimeType: "image/gif", bytes: "GIF87a" },
  { mimeType: "image/gif", bytes: "GIF89a" },
  { mimeType: "image/tiff", bytes: "II*\0" },
  { mimeType: "image/tiff", bytes: "MM\0*" },
  { mimeType: "video/webm", bytes: "\x1aE\xdf\xa3" },
  { mimeType: "video/mpeg", bytes: "\0\0\x01\xba" },
  { mimeType: "video/mpeg", bytes: "\0\0\x01\xb3" },
  { mimeType: "audio/mpeg", bytes: "ID3", binary: true },
  { mimeType: "audio/aac", bytes: "\xff\xf1" },
  { mimeType: "audio/aac", bytes: "\xff\xf9" },
  { mimeType: "audio/mpeg", bytes: "\xff\xfb" },
  { mimeType: "audio/mpeg", bytes: "\xff\xf3" },
  { mimeType: "audio/mpeg", bytes: "\xff\xf2" },
  { mimeType: "audio/mpeg", bytes: "\xff\xfa" },
  { mimeType: "audio/x-caf", bytes: "caff\0\x01" },
  { mimeType: "audio/amr", bytes: "#!AMR" },
  { mimeType: "audio/ogg", bytes: "OggS" },
  { mimeType: "audio/flac", bytes: "fLaC" },
  { mimeType: "application/pdf", bytes: "%PDF-" },
  { mimeType: "application/rtf", bytes: "{\\rtf" },
  { mimeType: "application/gzip", bytes: "\x1f\x8b\x08" },
  { mimeType: "application/zip", bytes: "PK\x03\x04" },
  { mimeType: "application/zip", bytes: "PK\x05\x06" },
  { mimeType: "application/msword", bytes: "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" },
  { mimeType: "application/x-msdownload", bytes: "MZ", binary: true },
  { mimeType: "application/x-executable", bytes: "\x7fELF" },
  { mimeType: "application/x-mach-binary", bytes: "\xfe\xed\xfa\xce" },
  { mimeType: "application/x-mach-binary", bytes: "\xfe\xed\xfa\xcf" },
  { mimeType: "application/x-mach-binary", bytes: "\xce\xfa\xed\xfe" },
  { mimeType: "application/x-mach-binary", bytes: "\xcf\xfa\xed\xfe" },
  { mimeType: "application/x-mach-binary", bytes: "\xca\xfe\xba\xbe" },
  { mimeType: "application/x-7z-compressed", bytes: "7z\xbc\xaf\x27\x1c" },
  { mimeType: "application/vnd.rar", bytes: "Rar!\x1a\x07" },
  { mimeType: "application/x-sh", bytes: "#!" },
];

/** Brands of ISO base media files, by their first letters (ISO 14496-12, mp4ra.org). */
const BRANDS: readonly [prefix: string, mimeType: string][] = [
  ["heic", "image/heic"],
  ["heix", "image/heic"],
  ["hevc", "image/heic"],
  ["heim", "image/heic"],
  ["heis", "image/heic"],
  ["mif1", "image/heif"],
  ["msf1", "image/heif"],
  ["avif", "image/avif"],
  ["avis", "image/avif"],
  ["M4A ", "audio/mp4"],
  ["M4B ", "audio/mp4"],
  ["qt  ", "video/quicktime"],
  ["3g", "video/3gpp"],
];

/** Atoms that a QuickTime file without a brand begins with. */
const ATOMS = ["moov", "mdat", "wide", "free", "skip", "pnot"];

/** The type of a zip archive by the names of its first files, which include all of these. */
const ZIPPED: readonly [mimeType: string, ...names: string[]][] = [
  ["application/vnd.openxmlformats-officedocument.wordprocessingml.document", "word/", "_rels/.rels"],
  ["application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xl/", "_rels/.rels"],
  ["application/vnd.openxmlformats-officedocument.presentationml.presentation", "ppt/", "_rels/.rels"],
  ["application/vnd.oasis.opendocument.text", "mimetypeapplication/vnd.oasis.opendocument.text"],
  ["application/vnd.oasis.opendocument.spreadsheet", "mimetypeapplication/vnd.oasis.opendocument.spreadsheet"],
  ["application/epub+zip", "mimetypeapplication/epub+zip"],
  ["application/java-archive", "META-INF/MANIFEST.MF"],
  ["application/vnd.android.package-archive", "AndroidManifest.xml"],
];

/** Bytes of a file that are searched for marks without a fixed offset. */
const LOOKED_AT_BYTES = 8_192;

/** The type of a file by its bytes alone; null if they are not recognised. */
export function sniff(bytes: Uint8Array): string | null {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const head = all.toString("latin1", 0, LOOKED_AT_BYTES);
  const binary = head.includes("\0");
  const container = binary ? containerOf(head) : null;
  if (container !== null) return container;
  const fits = (one: Magic) => head.startsWith(one.bytes) && (binary || one.binary !== true);
  const magic = MAGIC.find(fits)?.mimeType ?? null;
  if (magic === "application/zip") return zippedOf(head) ?? magic;
  if (magic === "video/webm" && head.includes("matroska")) return "video/x-matroska";
  if (magic !== null) return magic;
  if (head.startsWith("BM") && bytes.length > 26 && all.readUInt32LE(2) === bytes.length) return "image/bmp";
  return textOf(all);
}

function zippedOf(head: string): string | null {
  return ZIPPED.find(([, ...names]) => names.every((name) => head.includes(name)))?.[0] ?? null;
}

/** Containers whose content is recognised. */
function containerOf(head: string): string | null {
  const kind = head.slice(8, 12);
  if (head.startsWith("RIFF")) {
    if (kind === "WEBP") return "image/webp";
    if (kind === "WAVE") return "audio/wav";
    return kind === "AVI " ? "video/x-msvideo" : null;
  }
  if (head.startsWith("FORM")) return kind === "AIFF" || kind === "AIFC" ? "audio/aiff" : null;
  const atom = head.slice(4, 8);
  if (atom === "ftyp") return BRANDS.find(([prefix]) => kind.startsWith(prefix))?.[1] ?? "video/mp4";
  return ATOMS.includes(atom) ? "video/quicktime" : null;
}

/** First bytes of files that a browser would run, whatever their name. */
const MARKUP = /^<(!doctype\s+html|!doctype\s+svg|svg|html|head|body|script|iframe|title|style|meta)\b/i;

/** Constructs allowed before the first tag, and how they end. */
const ASIDES: readonly [start: string, end: string][] = [
  ["<!--", "-->"],
  ["<?", "?>"],
];

/** The name of the first markup tag after space, comments and declarations; null if there is none. */
function firstTag(text: string): string | null {
  let rest = text.trimStart();
  for (;;) {
    const aside = ASIDES.find(([start]) => rest.startsWith(start));
    if (aside === undefined) return MARKUP.exec(rest)?.[1]?.toLowerCase() ?? null;
    const end = rest.indexOf(aside[1], aside[0].length);
    if (end === -1) return null;
    rest = rest.slice(end + aside[1].length).trimStart();
  }
}

/** Bytes of a text that are checked: a file of 100 MiB must not block the process. */
const TEXT_BYTES = 65_536;

function textOf(all: Buffer): string | null {
  const bytes = all.subarray(0, TEXT_BYTES);
  if (hasControls(bytes)) return null;
  let text: string;
  try {
    // Streaming, since the last character may be cut in two.
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: all.length > TEXT_BYTES });
  } catch {
    return null;
  }
  const start = text.slice(0, LOOKED_AT_BYTES);
  const markup = firstTag(start);
  if (markup !== null) return markup.endsWith("svg") ? "image/svg+xml" : "text/html";
  if (/^\s*BEGIN:VCARD\b/i.test(start)) return "text/vcard";
  return /^\s*BEGIN:VCALENDAR\b/i.test(start) ? "text/calendar" : "text/plain";
}

/** Control characters that do not occur in text: all except tab, line feed, form feed, carriage return and escape. */
function hasControls(bytes: Buffer): boolean {
  for (const byte of bytes) {
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0c && byte !== 0x0d && byte !== 0x1b) return true;
  }
  return false;
}

/** Longest stored file name in characters: the limit of file systems. */
const FILENAME_LENGTH_MAX = 255;

/** Characters that a file name must not have: control characters and changes of text direction. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** The file name to store: without its path and invisible characters. Null if nothing is left. */
export function filenameOf(text: string | null): string | null {
  const last = (text ?? "").split(/[/\\]/).at(-1) ?? "";
  const name = last.replace(UNSEEN, "").trim().slice(0, FILENAME_LENGTH_MAX);
  return name === "" || /^\.+$/.test(name) ? null : name;
}

/** The name of a file that was fetched from `url`: the last part of its path, if it looks like a file name. */
export function filenameOfUrl(url: string): string | null {
  const last = URL.parse(url)?.pathname.split("/").at(-1) ?? "";
  try {
    const name = filenameOf(decodeURIComponent(last));
    return name !== null && /\.[A-Za-z0-9]{1,8}$/.test(name) ? name : null;
  } catch {
    return null;
  }
}
