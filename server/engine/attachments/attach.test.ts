/** Files of messages: gathered for a send attempt, stored as they arrive, and opened by their links. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { commitAll, type TestContext, testContext } from "../../../test/support/context.ts";
import { ScriptedProvider } from "../../../test/support/provider.ts";
import type { InboundAttachment, MessageAttachment } from "../../core/attachment.ts";
import type { Release } from "../../core/fair-semaphore.ts";
import type { Message } from "../../core/message.ts";
import { NEW_MESSAGE } from "../../core/message.ts";
import type { FetchResult, FileFetcher } from "../../outgoing/fetch.ts";
import type { EngineDeps } from "../engine-deps.ts";
import { LINK_KEY, linkUnder, SignedLinks } from "../signed-links.ts";
import { attach, keepInbound } from "./attach.ts";
import { findDownload, readDownload } from "./download.ts";
import { gatherAttachments } from "./gather.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1");
const MP3 = Buffer.from("ID3\x04\0\0\0\0", "latin1");
const MIB = 1_048_576;

/** Returns a scripted result for each address, and counts its fetches and the held bytes. */
class FakeFetcher implements FileFetcher {
  readonly asked: { url: string; bytesMax: number }[] = [];
  held = 0;
  room = Number.POSITIVE_INFINITY;
  readonly #answers: Record<string, Buffer | Exclude<FetchResult, { bytes: Buffer }>>;

  constructor(answers: Record<string, Buffer | Exclude<FetchResult, { bytes: Buffer }>>) {
    this.#answers = answers;
  }

  async fetch(...[url, { bytesMax, tooLarge, abort }]: Parameters<FileFetcher["fetch"]>): Promise<FetchResult> {
    this.asked.push({ url, bytesMax });
    if (url.endsWith("/never")) {
      await new Promise((resolve) => abort.addEventListener("abort", resolve));
      return { deferred: "was not fetched: the service stopped" };
    }
    const answer = this.#answers[url] ?? { refused: "answers 404" };
    if (!Buffer.isBuffer(answer)) return answer;
    if (answer.length > bytesMax) return { refused: tooLarge };
    const release = this.hold("", answer.length);
    return release === null ? { deferred: "was not fetched: no room" } : { bytes: answer, release };
  }

  hold(_owner: string, bytes: number): Release | null {
    if (this.held + bytes > this.room) return null;
    this.held += bytes;
    return () => {
      this.held -= bytes;
    };
  }
}

function messageOf({ deps, customer, number, instance }: TestContext, more: Partial<Message>): Message {
  const now = deps.clock.now();
  return {
    ...NEW_MESSAGE,
    id: deps.newId("msg"),
    customerId: customer.id,
    keyId: null,
    from: number.address,
    to: "+15005550100",
    channel: "imessage",
    channelsLeft: [],
    fallback: true,
    fallbackAfterMs: null,
    text: null,
    correlationId: "cor_0",
    instanceId: instance.id,
    dueAt: now,
    expiresAt: null,
    scheduledAt: null,
    createdAt: now,
    updatedAt: now,
    ...more,
  };
}

function fileAt(url: string, more: Partial<MessageAttachment> = {}): MessageAttachment {
  const none = { mimeType: null, filename: null, totalBytes: null, isAudioMessage: false, token: null };
  return { guid: "att_1", ...none, url, ...more };
}

async function stage(t: { after(action: () => unknown): void }, fetcher: FakeFetcher) {
  const made = await testContext({ deps: { fetcher } });
  t.after(() => made.close());
  const load = (more: Partial<Message>, abort = new AbortController().signal) =>
    gatherAttachments(made.deps, messageOf(made, more), abort);
  return { ...made, load };
}

test("the files of a message are loaded in order, media first, with the type of their content, and are released once", async (t) => {
  const fetcher = new FakeFetcher({
    "https://a.example/one.png": PNG,
    "https://a.example/two": PNG,
    "https://a.example/sound.mp3?x": MP3,
  });
  const { deps, customer, load } = await stage(t, fetcher);
  const messageId = deps.newId("msg");
  const owner = { customerId: customer.id, messageId };
  const kept = attach(deps, owner, [
    { type: "url", url: "https://a.example/sound.mp3?x", isAudioMessage: true },
    { type: "base64", data: PNG.toString("base64"), filename: "mine.png" },
  ]);
  await commitAll(deps, kept.operations);
  const mediaUrls = ["https://a.example/one.png", "https://a.example/two"];
  const files = await load({ mediaUrls, attachments: kept.attachments });
  assert.ok("loaded" in files);
  assert.deepEqual(
    files.loaded.map(({ filename, mimeType, isAudioMessage }) => [filename, mimeType, isAudioMessage]),
    [
      ["one.png", "image/png", false],
      ["attachment-2.png", "image/png", false],
      ["sound.mp3", "audio/mpeg", true],
      ["mine.png", "image/png", false],
    ],
  );
  assert.ok(files.loaded.every(({ bytes }) => bytes.length === PNG.length || bytes.length === MP3.length));
  const link = deps.link(kept.attachments[1]?.token ?? "");
  assert.deepEqual(
    files.loaded.map(({ url }) => url),
    [...mediaUrls, "https://a.example/sound.mp3?x", link],
  );
  assert.match(link ?? "", /\/v1\/attachments\/./);
  assert.equal(fetcher.held, 3 * PNG.length + MP3.length);
  files.release();
  files.release();
  assert.equal(fetcher.held, 0);
});

test("a file that can never be loaded refuses the message with a reason for its sender, and holds no memory", async (t) => {
  const fetcher = new FakeFetcher({
    "https://a.example/a.png": PNG,
    "https://a.example/text": Buffer.from("Hello"),
    "https://a.example/page": Buffer.from("<html>"),
  });
  const { load } = await stage(t, fetcher);
  const cases: [Partial<Message>, string][] = [
    [
      { mediaUrls: ["https://a.example/a.png", "https://a.example/no"] },
      "content.mediaUrls[1]: https://a.example/no answers 404.",
    ],
    [
      { mediaUrls: ["https://a.example/text"] },
      "content.mediaUrls[0]: https://a.example/text is no image: by its content it is text/plain.",
    ],
    [
      { attachments: [fileAt("https://a.example/a.png"), fileAt("https://a.example/text", { isAudioMessage: true })] },
      "attachments[1].isAudioMessage is true, but the file is text/plain; only audio can be sent as an audio message.",
    ],
    [
      { attachments: [fileAt("https://a.example/a.png", { mimeType: "application/pdf" })] },
      "attachments[0].mimeType is application/pdf, but the file is image/png; correct it or leave it out.",
    ],
    [
      { attachments: [{ ...fileAt(""), url: null, guid: "att_0192f0c1-2345-7abc-8def-0123456789ab" }] },
      "attachments[0]: the file is no longer kept here.",
    ],
  ];
  for (const [more, words] of cases) {
    assert.deepEqual(await load(more), { refused: words });
    assert.equal(fetcher.held, 0, words);
  }
  const page = await load({ attachments: [fileAt("https://a.example/page")] });
  assert.match((page as { refused: string }).refused, /page is text\/html, which cannot be sent/);
});

test("the files of a message together are at most 100 MiB", async (t) => {
  const half = Buffer.concat([PNG, Buffer.alloc(50 * MIB)]);
  const fetcher = new FakeFetcher({ "https://a.example/half": half });
  const { load } = await stage(t, fetcher);
  const url = "https://a.example/half";
  assert.deepEqual(await load({ mediaUrls: [url, url] }), {
    refused: `content.mediaUrls[1]: ${url} is, with the files before it, larger than 100 MiB.`,
  });
  assert.deepEqual(
    fetcher.asked.map(({ bytesMax }) => bytesMax),
    [100 * MIB, 100 * MIB - half.length],
  );
  assert.equal(fetcher.held, 0);
});

test("a file that may be loaded later defers the message: a temporary error, too little memory, a stop, a timeout", async (t) => {
  const fetcher = new FakeFetcher({
    "https://a.example/a.png": PNG,
    "https://a.example/busy": { deferred: "answers 503" },
  });
  const { deps, customer, clock, load } = await stage(t, fetcher);
  const mediaUrls = ["https://a.example/a.png", "https://a.example/busy"];
  assert.deepEqual(await load({ mediaUrls }), { deferred: "content.mediaUrls[1] answers 503" });
  assert.equal(fetcher.held, 0);

  const owner = { customerId: customer.id, messageId: deps.newId("msg") };
  const kept = attach(deps, owner, [{ type: "base64", data: PNG.toString("base64") }]);
  await commitAll(deps, kept.operations);
  fetcher.room = 3;
  const full = await load({ attachments: kept.attachments });
  assert.deepEqual(full, { deferred: "attachments[0] was not read: too many large files are under way" });

  const off = new AbortController();
  const stopped = load({ mediaUrls: ["https://a.example/never"] }, off.signal);
  off.abort();
  assert.match(((await stopped) as { deferred: string }).deferred, /the service stopped$/);
  const late = load({ mediaUrls: ["https://a.example/never"] });
  await clock.advance(35_000);
  assert.deepEqual(await late, { deferred: "the files were not fetched within 35 s" });
  assert.equal(clock.pending, 0);
});

const INBOUND: InboundAttachment = {
  reference: "peer-1",
  mimeType: null,
  filename: null,
  totalBytes: null,
  data: null,
};

async function kept(made: { deps: EngineDeps } & TestContext, more: Partial<InboundAttachment>) {
  const { deps, customer, instance } = made;
  const owner = { customerId: customer.id, messageId: deps.newId("msg"), instanceId: instance.id };
  const { attachments, operations } = keepInbound(deps, owner, [{ ...INBOUND, ...more }], false);
  await commitAll(deps, operations);
  const [attachment] = attachments;
  assert.ok(attachment !== undefined && attachment.token !== null);
  return { ...attachment, token: attachment.token };
}

test("a contact's file is kept with its bytes, the type of its content, and a name without a path", async (t) => {
  const made = await stage(t, new FakeFetcher({}));
  const page = Buffer.from("<html>");
  const { token, ...attached } = await kept(made, {
    data: page,
    mimeType: "image/png",
    filename: "../x.png",
    totalBytes: 1,
  });
  assert.deepEqual(
    [attached.mimeType, attached.filename, attached.totalBytes, attached.url],
    ["text/html", "x.png", page.length, null],
  );
  const head = await findDownload(made.deps, token);
  const { bytes, mimeType } = await readDownload(made.deps, head);
  assert.deepEqual([Buffer.from(bytes).toString(), mimeType], ["<html>", "text/html"]);
});

test("a file that only the provider has is fetched on demand, and is 404 if the provider no longer has it", async (t) => {
  const made = await stage(t, new FakeFetcher({}));
  const { deps, providers, instance } = made;
  const { token, ...attached } = await kept(made, { mimeType: "image/x-odd", totalBytes: 77 });
  assert.deepEqual([attached.mimeType, attached.totalBytes], ["image/x-odd", 77]);
  const read = async () => readDownload(deps, await findDownload(deps, token));
  await assert.rejects(read(), { code: "SERVICE_UNAVAILABLE" });
  const provider = new ScriptedProvider();
  providers.set(instance.id, provider);
  await assert.rejects(read(), { code: "NOT_FOUND" });
  let has: Uint8Array | null = PNG;
  const asked: string[] = [];
  const actions = {
    async fetch(reference: string) {
      asked.push(reference);
      return has;
    },
  };
  providers.set(instance.id, Object.assign(provider, { actions }));
  const { bytes, mimeType } = await read();
  assert.deepEqual([Buffer.from(bytes).equals(PNG), mimeType, asked], [true, "image/png", ["peer-1"]]);
  has = null;
  await assert.rejects(read(), { code: "NOT_FOUND" });
  has = new Uint8Array(100 * MIB + 1);
  await assert.rejects(read(), { code: "PROVIDER_ERROR" });
});

test("a link to a file is valid, and shown, as long as events of that time are kept", async (t) => {
  const made = await stage(t, new FakeFetcher({}));
  const { deps, clock } = made;
  const link = linkUnder(() => "https://api.example", deps);
  const { token } = await kept(made, { data: PNG });
  assert.equal(link(token), `https://api.example/v1/attachments/${token}`);
  const dayMs = 86_400_000;
  // The sandbox's clock moves no link.
  clock.shift(90 * dayMs);
  await clock.advance(30 * dayMs - 1);
  await findDownload(deps, token);
  await clock.advance(1);
  await assert.rejects(findDownload(deps, token), { code: "NOT_FOUND" });
  assert.equal(link(token), null);
  const forever = { ...deps, settings: { ...deps.settings, retentionMs: null } };
  const { token: lasting } = await kept({ ...made, deps: forever }, { data: PNG });
  await clock.advance(1_000 * dayMs);
  await findDownload(deps, lasting);
});

test("the key of links is created once, stored sealed, and is the same after each start", async (t) => {
  const { deps } = await stage(t, new FakeFetcher({}));
  const [first, second] = [new SignedLinks(), new SignedLinks()];
  assert.throws(() => first.token(deps.newId("att"), 0, null), /was not loaded/);
  await first.load(deps);
  await second.load(deps);
  const id = deps.newId("att");
  assert.equal(second.open(first.token(id, 0, null), 1), id);
  const row = await deps.store.db
    .selectFrom("settings")
    .select("value")
    .where("name", "=", LINK_KEY)
    .executeTakeFirst();
  assert.match(row?.value ?? "", /^v1\./);
});
