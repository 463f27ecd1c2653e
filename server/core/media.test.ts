/** The types of files by their bytes, and which of them can be sent. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import {
  checkMedia,
  defaultFilename,
  filenameOf,
  filenameOfUrl,
  mimeTypeOf,
  refuseType,
  sniff,
  typeOfReceived,
} from "./media.ts";

const latin1 = (text: string) => Buffer.from(text, "latin1");
const DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";

/** A zip archive's first entries, as far as a look at its head goes. */
function zip(...names: string[]): Buffer {
  const data = deflateRawSync(Buffer.from("content"));
  const entries = names.map((name) => {
    const header = Buffer.alloc(30);
    header.write("PK\x03\x04", "latin1");
    header.writeUInt32LE(data.length, 18);
    header.writeUInt16LE(name.length, 26);
    return Buffer.concat([header, Buffer.from(name), data]);
  });
  return Buffer.concat(entries);
}

const BMP = Buffer.alloc(40);
BMP.write("BM");
BMP.writeUInt32LE(40, 2);

const FILES: Record<string, Buffer[]> = {
  "image/jpeg": [latin1("\xff\xd8\xff\xe0\0\x10JFIF\0")],
  "image/png": [latin1("\x89PNG\r\n\x1a\n\0\0\0\rIHDR")],
  "image/gif": [latin1("GIF89a\x01\0\x01\0"), latin1("GIF87a")],
  "image/webp": [latin1("RIFF\x24\0\0\0WEBPVP8 ")],
  "image/heic": [latin1("\0\0\0\x18ftypheic\0\0\0\0mif1heic")],
  "image/heif": [latin1("\0\0\0\x18ftypmif1\0\0\0\0")],
  "image/avif": [latin1("\0\0\0\x18ftypavif\0\0\0\0")],
  "image/tiff": [latin1("II*\0\x08\0\0\0"), latin1("MM\0*\0\0\0\x08")],
  "image/bmp": [BMP],
  "video/mp4": [latin1("\0\0\0\x18ftypisom\0\0\x02\0"), latin1("\0\0\0\x18ftypmp42\0\0\0\0")],
  "video/quicktime": [latin1("\0\0\0\x14ftypqt  \0\0\0\0"), latin1("\0\0\x02\xd0moov\0\0\0lmvhd")],
  "video/3gpp": [latin1("\0\0\0\x18ftyp3gp5\0\0\0\0")],
  "video/webm": [latin1("\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm\0")],
  "video/x-matroska": [latin1("\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x88matroska\0")],
  "video/x-msvideo": [latin1("RIFF\x24\0\0\0AVI LIST")],
  "video/mpeg": [latin1("\0\0\x01\xba!\0\x01")],
  "audio/mpeg": [latin1("ID3\x04\0\0\0\0"), latin1("\xff\xfb\x90\0")],
  "audio/mp4": [latin1("\0\0\0\x18ftypM4A \0\0\0\0")],
  "audio/aac": [latin1("\xff\xf1P\x80\0")],
  "audio/x-caf": [latin1("caff\0\x01\0\0desc")],
  "audio/wav": [latin1("RIFF\x24\0\0\0WAVEfmt ")],
  "audio/aiff": [latin1("FORM\0\0\0\x2eAIFFCOMM")],
  "audio/amr": [latin1("#!AMR\n\x3c")],
  "audio/ogg": [latin1("OggS\0\x02\0\0")],
  "audio/flac": [latin1("fLaC\0\0\0\x22")],
  "application/pdf": [latin1("%PDF-1.7\n%\xe2\xe3\xcf\xd3")],
  "application/rtf": [latin1("{\\rtf1\\ansi Hello}")],
  "application/gzip": [latin1("\x1f\x8b\x08\0\0\0\0\0")],
  "application/zip": [zip("photo.jpg", "xl/of mine.txt"), latin1("PK\x05\x06".padEnd(22, "\0"))],
  [DOCX]: [zip("[Content_Types].xml", "_rels/.rels", "word/document.xml")],
  "application/vnd.oasis.opendocument.text": [
    Buffer.concat([
      latin1("PK\x03\x04".padEnd(30, "\0")),
      Buffer.from("mimetypeapplication/vnd.oasis.opendocument.text"),
    ]),
  ],
  "application/msword": [latin1("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0")],
  "text/vcard": [Buffer.from("BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Ann\r\nEND:VCARD"), Buffer.from("\ufeffbegin:vcard\n")],
  "text/calendar": [Buffer.from("BEGIN:VCALENDAR\r\n")],
  "text/plain": [
    Buffer.from("Hello, Jürgen 😀\n\tHow are you?"),
    Buffer.from("MZ is a text as well"),
    Buffer.from("ID3 is a text as well"),
    Buffer.from("I'm free tonight"),
    Buffer.from("a < b > c"),
    Buffer.from("é".repeat(40_000)),
  ],
};

const NOT_TO_SEND: Record<string, Buffer[]> = {
  "application/x-msdownload": [latin1("MZ\x90\0\x03\0\0\0")],
  "application/x-executable": [latin1("\x7fELF\x02\x01\x01\0")],
  "application/x-mach-binary": [latin1("\xcf\xfa\xed\xfe\x07\0\0\x01"), latin1("\xca\xfe\xba\xbe\0\0\0\x02")],
  "application/x-sh": [Buffer.from("#!/bin/sh\nrm -rf /\n")],
  "application/java-archive": [zip("META-INF/", "META-INF/MANIFEST.MF")],
  "application/vnd.android.package-archive": [zip("AndroidManifest.xml", "classes.dex")],
  "text/html": [
    Buffer.from("<!DOCTYPE html><p>Hi"),
    Buffer.from("\ufeff \n<!-- a --><!-- b -->\n<HTML>"),
    Buffer.from("<script>alert(1)</script>"),
    Buffer.from('<?xml version="1.0"?><!-- --><html xmlns="x">'),
  ],
  "image/svg+xml": [
    Buffer.from("<svg onload='x'>"),
    Buffer.from('<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x"><svg>'),
  ],
};

test("every media type is recognised by its bytes, even if they resemble another type", () => {
  for (const [mimeType, files] of Object.entries({ ...FILES, ...NOT_TO_SEND })) {
    for (const file of files) assert.equal(sniff(file), mimeType, file.toString("latin1", 0, 40));
  }
});

test("a sendable file gets the type of its content; programs, web pages and unknown types are refused by name", () => {
  for (const [mimeType, files] of Object.entries(FILES)) {
    for (const file of files) {
      assert.deepEqual(checkMedia(file, null), { mimeType });
      assert.deepEqual(checkMedia(file, "application/octet-stream"), { mimeType });
      assert.deepEqual(checkMedia(file, mimeType.toUpperCase()), { mimeType });
    }
  }
  for (const [mimeType, files] of Object.entries(NOT_TO_SEND)) {
    for (const file of files) {
      const judged = checkMedia(file, "image/png");
      assert.ok("refused" in judged && judged.field === "data" && judged.refused.startsWith(`is ${mimeType}, which`));
    }
  }
  for (const bytes of [Buffer.alloc(64), latin1("\x01\x02\x03"), latin1("caf\xe9 in Latin-1")]) {
    const judged = checkMedia(bytes, null);
    assert.ok("refused" in judged && judged.refused.startsWith("is of no kind that is known here"), bytes.toString());
  }
  assert.deepEqual(checkMedia(Buffer.alloc(0), null), { refused: "is empty", field: "data" });
});

test("a declared type counts if the bytes allow it, and is refused if they contradict it", () => {
  const [jpeg, plain, archive, docx, film] = [
    FILES["image/jpeg"],
    FILES["text/plain"],
    FILES["application/zip"],
    FILES[DOCX],
    FILES["video/mp4"],
  ].map((files) => files?.[0] ?? Buffer.alloc(0)) as [Buffer, Buffer, Buffer, Buffer, Buffer];
  const fits: [Buffer, string, string][] = [
    [jpeg, "image/jpg", "image/jpeg"],
    [jpeg, "Image/JPEG; q=1", "image/jpeg"],
    [plain, "text/csv", "text/csv"],
    [plain, "application/json", "application/json"],
    [archive, "application/vnd.apple.pages", "application/vnd.apple.pages"],
    [docx, "application/zip", "application/zip"],
    [film, "audio/m4a", "audio/mp4"],
    [Buffer.from("BEGIN:VCARD\n"), "text/plain", "text/plain"],
  ];
  for (const [bytes, declared, mimeType] of fits) assert.deepEqual(checkMedia(bytes, declared), { mimeType }, declared);
  const contradictions: [Buffer, string][] = [
    [jpeg, "image/png"],
    [jpeg, "text/plain"],
    [jpeg, "nonsense"],
    [plain, "image/jpeg"],
    [plain, "text/vcard"],
    [plain, "text/html"],
    [docx, "application/vnd.apple.pages"],
    [archive, "application/msword"],
  ];
  for (const [bytes, declared] of contradictions) {
    const judged = checkMedia(bytes, declared);
    assert.ok("refused" in judged && judged.field === "mimeType", declared);
    assert.ok(judged.refused.startsWith(`is ${declared}, but the file is ${sniff(bytes)}`), judged.refused);
  }
});

test("refuseType refuses a declared type that cannot be sent or is no media type", () => {
  for (const type of ["image/jpeg", "IMAGE/JPG", "text/csv", "application/octet-stream", DOCX]) {
    assert.equal(refuseType(type), null, type);
  }
  assert.match(refuseType("text/html") ?? "", /^is text\/html, which cannot be sent; images/);
  assert.match(refuseType("jpeg") ?? "", /^is jpeg, which is no media type/);
  assert.match(refuseType("a/b\r\nX: y") ?? "", /no media type/);
});

test("a received file has the type of its bytes, else the declared type, and is never refused", () => {
  const jpeg = FILES["image/jpeg"]?.[0] ?? null;
  assert.equal(typeOfReceived(jpeg, "application/x-executable"), "image/jpeg");
  assert.equal(typeOfReceived(Buffer.alloc(8), "image/x-portable-anymap"), "image/x-portable-anymap");
  assert.equal(typeOfReceived(null, "text/html; charset=x"), "text/html");
  assert.equal(typeOfReceived(Buffer.from("<html>"), null), "text/html");
  for (const odd of [null, "", "x", "a/b\r\nc: d", "a/b/c"]) {
    assert.equal(typeOfReceived(null, odd), "application/octet-stream");
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.option(fc.string()), (bytes, declared) => {
      assert.equal(mimeTypeOf(typeOfReceived(bytes, declared)) !== null, true);
    }),
  );
});

test("sniffing a page with a thousand leading comments takes under 100 ms", () => {
  const many = Buffer.from(`${"<!---->".repeat(1_000)}x`);
  const ms = cpuMsOf(() => assert.equal(sniff(many), "text/plain"));
  assert.ok(ms < 100, `${ms} ms`);
});

test("file names lose paths and invisible characters, and an empty name is null", () => {
  assert.equal(filenameOf("/etc/../photo.jpg"), "photo.jpg");
  assert.equal(filenameOf("C:\\x\\año.png"), "año.png");
  assert.equal(filenameOf("gpj\u202e.exe\r\n\0"), "gpj.exe");
  assert.equal(filenameOf("x".repeat(300))?.length, 255);
  for (const none of [null, "", "..", "a/", " ", "\u200b"]) assert.equal(filenameOf(none), null);
  assert.equal(filenameOfUrl("https://example.com/a/caf%C3%A9.png?x=1.gif"), "café.png");
  for (const none of ["https://example.com/", "https://example.com/image", "https://example.com/%zz.png", "x"]) {
    assert.equal(filenameOfUrl(none), null, none);
  }
  assert.equal(defaultFilename("image/jpeg", 2), "attachment-2.jpg");
  assert.equal(defaultFilename("x/y", 1), "attachment-1.bin");
});
