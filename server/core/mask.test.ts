import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { cpuMsOf } from "../../test/support/cpu-time.ts";
import { BODY_BYTES_MAX, maskBody, maskPath, SCANNED_MAX } from "./mask.ts";

const masked = (value: unknown) => JSON.parse(maskBody(JSON.stringify(value), true).text);

test("values of secret fields are masked by their names, at any depth, lists and objects too", () => {
  const given = {
    to: "+15005550101",
    secret: "s3cret",
    config: { password: "p", authToken: "t", host: "smsc.example", port: 2775 },
    tokens: ["a", { b: "c" }],
    credentials: { user: "u", nested: [1] },
    after: "shown",
    key: 17,
    secretKnown: true,
    previousSecret: null,
    nextCursor: "abc",
  };
  assert.deepEqual(masked(given), {
    to: "+15005550101",
    secret: "***",
    config: { password: "***", authToken: "***", host: "smsc.example", port: 2775 },
    tokens: "***",
    credentials: "***",
    after: "shown",
    key: "***",
    secretKnown: true,
    previousSecret: null,
    nextCursor: "abc",
  });
});

test("keys, signing secrets and addresses that open without a key are masked wherever they are", () => {
  const token = "A".repeat(51);
  const id = "att_0199c2f4-8a00-7000-8000-000000000016";
  assert.deepEqual(
    masked([
      "use tb_abcDEF123 here",
      "whsec_QUJD+/=x",
      "https://me:pass@a.example/x?token=abc&to=1",
      "https://a.example/?next=/x?accessToken=abc?d&to=?e&Signature=f#g",
      `http://x/v1/attachments/${token}`,
      `/v1/attachments/${id}`,
      "http://x/hooks/inst_1/abcdefghijklmnopqrstuv",
      "http://x/sandbox/inbox/abcdefghijklmnopqrstuv",
    ]),
    [
      "use tb_*** here",
      "whsec_***",
      "https://***@a.example/x?token=***&to=1",
      "https://a.example/?next=/x?accessToken=***&to=?e&Signature=***#g",
      "http://x/v1/attachments/***",
      `/v1/attachments/${id}`,
      "http://x/hooks/inst_1/***",
      "http://x/sandbox/inbox/***",
    ],
  );
  assert.equal(maskPath("/v1/messages?to=%2B1&token=abc&q=tb_abc"), "/v1/messages?to=%2B1&token=***&q=tb_***");
});

const HIDDEN = "s3cretS3CRETs3cret12345";
/** Ways in which a secret stands in a body or a path, each with the secret once. */
const FORMS: Readonly<Record<string, string>> = {
  "a signature in an address": `{"url":"https://a.example/x?se=1&sig=${HIDDEN}"}`,
  "a key in an address": `{"url":"https://a.example/x?key=${HIDDEN}"}`,
  "auth in an address": `{"url":"https://a.example/x?auth=${HIDDEN}&b=1"}`,
  "pwd in an address": `{"url":"https://a.example/x?pwd=${HIDDEN}"}`,
  "a Mac's password in an address": `{"url":"http://mac.example:1234/api?guid=${HIDDEN}"}`,
  "a name encoded twice": `{"url":"https://a.example/x?%2574oken=${HIDDEN}"}`,
  "an address encoded twice": `{"url":"https://a.example/?to=https%253A%252F%252Fb.example%253Ftoken%253D${HIDDEN}"}`,
  "a fragment": `{"url":"https://a.example/#access_token=${HIDDEN}"}`,
  "a token in the path of a chat's webhook": `{"url":"https://chat.example/services/T01/B02/${HIDDEN}"}`,
  "a token in a path among others": `{"url":"https://chat.example/api/webhooks/123/${HIDDEN}/slack"}`,
  "user and password": `{"url":"https://me:${HIDDEN}@a.example/"}`,
  "a bearer token in a text": `{"text":"use Authorization Bearer ${HIDDEN}"}`,
  "a basic credential in a text": `{"note":"Basic ${HIDDEN}"}`,
  "a JSON web token": `{"note":"eyJhbGciOiJIUzI1NiJ9.${HIDDEN}.abc"}`,
  "a field named auth": `{"auth":"${HIDDEN}"}`,
  "a field named pwd": `{"smtp":{"pwd":"${HIDDEN}"}}`,
  "a field named sig": `{"sig":"${HIDDEN}"}`,
  "a field named passwd": `{"passwd":"${HIDDEN}"}`,
  "a key of ours": `{"text":"tb_${HIDDEN}"}`,
  "a token of a bridge": `{"text":"tbb_${HIDDEN}"}`,
  "a session": `{"text":"tbs_${HIDDEN}"}`,
  "a signing secret": `{"text":"whsec_${HIDDEN}"}`,
  "the address of a hook": `{"url":"https://tb.example/hooks/inst_1/${HIDDEN}"}`,
  "the address of an inbox": `{"url":"https://tb.example/sandbox/inbox/${HIDDEN}"}`,
  "a form": `user=a&pwd=${HIDDEN}&b=1`,
  "JSON in a string": JSON.stringify({ data: JSON.stringify({ authToken: HIDDEN }) }),
  "an escaped name": `{"\\u0073ecret":"${HIDDEN}"}`,
  "a list": `{"tokens":["${HIDDEN}"]}`,
};

for (const [form, body] of Object.entries(FORMS)) {
  test(`the log hides ${form}`, () => {
    assert.ok(body.includes(HIDDEN));
    assert.doesNotMatch(maskBody(body, true).text, /s3cret/i);
  });
}

test("the log hides secret parameters of a path, also if their names are encoded twice", () => {
  for (const name of ["sig", "key", "auth", "pwd", "guid", "token", "%2574oken", "access_token", "X-Amz-Signature"])
    assert.equal(maskPath(`/v1/x?a=1&${name}=${HIDDEN}&b=2`).includes(HIDDEN), false, name);
});

test("ids and ordinary words stay readable", () => {
  const shown = {
    guid: "iMessage;-;+15005550101",
    url: "https://a.example/chats/chat_0199c2f4-8a00-7000-8000-000000000016?limit=10&author=me",
    other: "https://a.example/blog/a-long-title-of-an-article",
    text: "The basic idea: pass by on Monday, key people only?",
  };
  assert.deepEqual(masked({ ...shown, text: "The basic idea: pass by on Monday" }), {
    ...shown,
    text: "The basic idea: pass by on Monday",
  });
});

/** Bytes of the heap after a garbage collection. */
function heapUsed(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  return process.memoryUsage().heapUsed;
}

test("masking takes time in proportion to the length of a text, however hostile the text is", () => {
  const hostile = [
    "?secret",
    "://a/",
    "://aaaaaaaaaaaaaaaaaaaaaaa1",
    "?key=",
    "#",
    "eyJaaaaaaaaa.",
    "-eyJ",
    "-eyJaaaaaaaa",
    "-eyJaaaaaaaa.a",
    "xtb_",
    "tb_aaaaaaaaaaaaaaaaaaa-",
    "/hooks/",
    "/sandbox/inbox/a",
    "basic ",
    "%25",
    "&token",
    "?&signature",
    "://a",
    "://a@",
    "/hooks/a/b",
    "tb_",
    "whsec_",
    "?token=",
    "\\\\",
    '\\"',
    '{\\"',
    '{"a":[',
    "%73",
    "a=b&",
    '"   ',
  ];
  const ms = cpuMsOf(() => {
    for (const unit of hostile) {
      const text = unit.repeat(SCANNED_MAX / unit.length);
      maskBody(`{"text":"tb_x ${text}"}`, false);
      maskBody(text, false);
      maskPath(`/v1/messages?tb_x${text}`);
    }
  });
  assert.ok(ms < 2_000, `${ms} ms`);
});

test("the log holds at most 4 KiB of a body in memory, not the whole body", () => {
  const kept: unknown[] = [];
  const before = heapUsed();
  for (let index = 0; index < 500; index += 1)
    kept.push(maskBody(`{"index":${index},"text":"${"words ".repeat(10_000)}"}`, true));
  const grown = heapUsed() - before;
  assert.equal(kept.length, 500);
  assert.ok(grown < 500 * 3 * BODY_BYTES_MAX, `${grown} bytes`);
});

test("a file is shortened, so that the fields behind it are seen", () => {
  const data = "QUJD".repeat(2_000);
  assert.deepEqual(masked({ data, filename: "a.png" }), {
    data: `${data.slice(0, 32)}… (8000 characters)`,
    filename: "a.png",
  });
});

test("a body is cut to 4 KiB of UTF-8 without half a character, and says so", () => {
  assert.deepEqual(maskBody('"hi"', true), { text: '"hi"', isCut: false });
  assert.equal(maskBody('"hi"', false).isCut, true);
  const { text, isCut } = maskBody(JSON.stringify("ä 😀".repeat(2_000)), true);
  assert.equal(isCut, true);
  assert.ok(text.isWellFormed() && Buffer.byteLength(text) > BODY_BYTES_MAX - 4);
  assert.ok(Buffer.byteLength(text) <= BODY_BYTES_MAX);
});

test("a secret of a body that was cut, or is no JSON, is masked too", () => {
  assert.equal(maskBody('{"a":1,"secret":"half of it', false).text, '{"a":1,"secret":"***"');
  assert.equal(maskBody('{"secret": ["one", "tw', false).text, '{"secret": "***"');
  assert.equal(maskBody("{'secret': nonsense, \0", true).text, "{'***");
});

/** JSON texts of a value with chosen escapes in its strings: all of them mean the same. */
function writings(text: string, escaped: (index: number) => boolean): string {
  return text.replace(/[a-z_/:]/gi, (char, index: number) =>
    escaped(index) ? `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}` : char,
  );
}

test("names and keys with escapes, duplicate names and JSON inside a string are masked like plain ones", () => {
  const shown = (text: string) => maskBody(text, true).text;
  assert.equal(shown('{"secr\\u0065t":"n","a":1}'), '{"secr\\u0065t":"***","a":1}');
  assert.equal(shown('{"\\u0053ECRET":["n"]}'), '{"\\u0053ECRET":"***"}');
  assert.equal(shown('{"secret":"n","a":2,"secret":"m"}'), '{"secret":"***","a":2,"secret":"***"}');
  assert.equal(shown('["t\\u0062_abc"]'), '["tb_***"]');
  assert.equal(shown('["https:\\/\\/me:n@a.example"]'), '["https://***@a.example"]');
  assert.equal(shown('{"tb_abc":1,"b\\n":"c\\n"}'), '{"tb_***":1,"b\\n":"c\\n"}');
  const inside = JSON.stringify({ body: JSON.stringify({ to: "+1", secret: "n" }) });
  assert.deepEqual(JSON.parse(shown(inside)), { body: '{"to":"+1","secret":"***"}' });
});

test("a form and a query are masked by their decoded names", () => {
  assert.equal(
    maskBody("to=%2B1&s%65cret=n&password=m&a=tb%5Fabc", true).text,
    "to=%2B1&s%65cret=***&password=***&a=tb_***",
  );
  assert.equal(
    maskPath("/v1/x?%74oken=n&apiKey=m&q=%74b_abc&to=%2B1"),
    "/v1/x?%74oken=***&apiKey=***&q=tb_***&to=%2B1",
  );
  assert.equal(maskPath("/hooks/inst_1/%61bcdefghijklmnopqrstuv"), "/hooks/inst_1/***");
  assert.equal(maskPath("/v1/x%2"), "/v1/x%2");
});

test("everything after a secret name is dropped from text that is neither JSON nor a form", () => {
  const shown = (text: string) => maskBody(text, true).text;
  assert.equal(shown("hello there"), "hello there");
  assert.equal(shown('{"a":"x, "secret":"n"}'), '{"a":"x, "***');
  assert.equal(shown('{"a":1} {"b":2}'), '{"a":1} {"b":2}');
  assert.equal(shown('{"a":1,"secret: "n"}'), '{"a":1,"***');
  assert.equal(shown("<x><password>n</password></x>"), "<x><***");
  assert.equal(
    shown('--b\r\nContent-Disposition: form-data; name="secret"\r\n\r\nn'),
    '--b\r\nContent-Disposition: form-data; name="***',
  );
  assert.equal(shown("{secret: 'a, b', c: 1}"), "{***");
  assert.equal(shown("s\0e\0c\0r\0e\0t\0=\0n\0"), "s***");
});

test("no writing of a body or path brings a secret value into the log", () => {
  const needle = "needle7c1f";
  const names = fc.constantFrom(
    "secret",
    "authToken",
    "Password",
    "key",
    "apiKey",
    "x-api-key",
    "credentials",
    "signature",
  );
  const secret = fc.oneof(
    fc.constant<fc.JsonValue>(needle),
    fc.jsonValue({ maxDepth: 2 }).map((value): fc.JsonValue => [value, { a: needle }, value]),
  );
  const wrap = (value: fc.JsonValue, ways: readonly number[]): fc.JsonValue =>
    ways.reduce<fc.JsonValue>((inner, way) => {
      if (way === 0) return [1, inner, "x"];
      return way === 1 ? { b: null, c: inner } : { text: JSON.stringify(inner) };
    }, value);
  const ways = fc.array(fc.nat(2), { maxLength: 4 });
  const body = fc
    .record({ name: names, secret, other: fc.jsonValue({ maxDepth: 2 }), ways, mask: fc.infiniteStream(fc.boolean()) })
    .map(({ name, secret: value, other, ways: all, mask }) => {
      const text = JSON.stringify(wrap({ a: other, [name]: value, z: other }, all), null, all.length);
      const chosen = [...mask.take(97)];
      return text.replace(/"(?:[^"\\]|\\.)*"/gs, (quoted) => {
        const inner = quoted.slice(1, -1);
        return inner.includes("\\") ? quoted : `"${writings(inner, (index) => chosen[index % 97] === true)}"`;
      });
    });
  fc.assert(
    fc.property(body, fc.integer({ min: 1, max: 100_000 }), (text, length) => {
      const plain = (shown: string) =>
        shown.replace(/\\u([0-9a-f]{4})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
      for (const given of [text, text.slice(0, length)])
        for (const isWhole of [true, false]) assert.ok(!plain(maskBody(given, isWhole).text).includes(needle), given);
    }),
  );
  const pairs = fc.array(fc.tuple(fc.stringMatching(/^[a-z]{1,5}$/), fc.string()), { maxLength: 3 });
  fc.assert(
    fc.property(pairs, names, fc.infiniteStream(fc.boolean()), (others, name, mask) => {
      const encode = (text: string) =>
        [...text].map((char) => (mask.next().value ? `%${char.charCodeAt(0).toString(16)}` : char)).join("");
      const form = [
        ...others.map((pair) => pair.map(encodeURIComponent).join("=")),
        `${encode(name)}=${encode(needle)}`,
      ].join("&");
      for (const shown of [maskBody(form, true).text, maskPath(`/v1/x?${form}`)])
        assert.ok(!decodeURIComponent(shown).includes(needle), form);
    }),
  );
});

test("JSON without secrets stays as it is, and no secret value gets through", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (value) => {
      const text = JSON.stringify({ safe: 1, secret: ["needle-7c1f", value], more: { token: "needle-7c1f" } });
      assert.ok(!maskBody(text, true).text.includes("needle-7c1f"));
    }),
  );
  const plain = fc.dictionary(fc.stringMatching(/^[a-f]{1,8}$/), fc.jsonValue());
  fc.assert(
    fc.property(plain, (value) => {
      const text = JSON.stringify(value, null, 2);
      if (/tb_|whsec_|:\/\/|secret|token|key|pass|pw|auth|sig|cred/i.test(text)) return;
      assert.equal(maskBody(text, true).text.slice(0, 1_000), text.toWellFormed().slice(0, 1_000));
    }),
  );
});
