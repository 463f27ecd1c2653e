/** Tests of the settings: each default, its valid and invalid values, and one clear line for an invalid value. */

import assert from "node:assert/strict";
import test from "node:test";
import { baseUrl, ConfigError, readConfig, SETTINGS } from "./config.ts";
import { allows, isLoopback } from "./core/address.ts";

const KEY = `tb_${"a".repeat(32)}`;
const LOOPBACK_TARGET = { host: "127.0.0.1", ip: "127.0.0.1" };

function refusedWith(pattern: RegExp): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof ConfigError);
    assert.match(error.message, pattern);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  };
}

test("without any setting, the service is a sandbox on 127.0.0.1:8080 with its data in ./data", () => {
  const { webhookAllow, webhookAllowReal, fetchAllow, trustedProxies, settings: _, ...config } = readConfig({});
  assert.deepEqual(config, {
    port: 8080,
    host: "127.0.0.1",
    dataDir: "./data",
    databaseUrl: null,
    role: "all",
    memberUrl: null,
    publicUrl: null,
    isLocalOnly: true,
    apiKey: null,
    adminKey: null,
    rateLimit: { limit: 100, windowSeconds: 60 },
    webhookRetryScheduleMs: [30_000, 300_000, 1_800_000, 7_200_000, 28_800_000, 86_400_000, 86_400_000],
    webhookConcurrency: 64,
    fallbackAfterMs: null,
    messageTtlMs: 72 * 3_600_000,
    retentionMs: 30 * 86_400_000,
    secretKey: null,
    paymentText: false,
    smartEncoding: false,
    sandboxInbox: true,
    requestLog: null,
    logLevel: "info",
    warnings: [],
  });
  assert.equal(allows(webhookAllow, LOOPBACK_TARGET), true);
  assert.equal(allows(webhookAllowReal, LOOPBACK_TARGET), false);
  assert.equal(allows(fetchAllow, LOOPBACK_TARGET), false);
  assert.deepEqual([trustedProxies.check("127.0.0.1"), trustedProxies.check("10.0.0.1")], [true, false]);
});

test("these settings exist, each with a flag of its name and one sentence", () => {
  const names =
    "PORT HOST TB_DATA_DIR TB_PUBLIC_URL DATABASE_URL TB_ROLE TB_MEMBER_URL TB_API_KEY TB_ADMIN_KEY TB_RATE_LIMIT TB_WEBHOOK_ALLOW " +
    "TB_FETCH_ALLOW TB_TRUSTED_PROXIES TB_WEBHOOK_RETRY_SCHEDULE TB_WEBHOOK_CONCURRENCY TB_FALLBACK_AFTER TB_MESSAGE_TTL TB_RETENTION TB_SECRET_KEY " +
    "TB_PAYMENT_TEXT TB_SMART_ENCODING TB_SANDBOX_INBOX TB_REQUEST_LOG LOG_LEVEL";
  assert.equal(SETTINGS.map((row) => row.name).join(" "), names);
  for (const row of SETTINGS) {
    assert.equal(row.flag, `--${row.name.toLowerCase().replaceAll("_", "-")}`);
    assert.match(row.description, /^[A-Z][^.\n]*(\.[^ \n][^.\n]*)*\.$/, row.name);
  }
});

const DATABASE = "postgres://user:p%40ss@db.example.com:6432/tightbeam?sslmode=verify-full";

const TAKEN: [string, string, keyof ReturnType<typeof readConfig>, unknown][] = [
  ["PORT", "0", "port", 0],
  ["PORT", "65535", "port", 65_535],
  ["HOST", "::1", "host", "::1"],
  ["HOST", "0.0.0.0", "host", "0.0.0.0"],
  ["HOST", "localhost", "host", "localhost"],
  ["TB_DATA_DIR", "/var/lib/tight beam", "dataDir", "/var/lib/tight beam"],
  ["TB_PUBLIC_URL", "https://sms.example.com/", "publicUrl", "https://sms.example.com"],
  ["TB_PUBLIC_URL", "http://10.0.0.1:8080/base/", "publicUrl", "http://10.0.0.1:8080/base"],
  ["DATABASE_URL", DATABASE, "databaseUrl", DATABASE],
  ["DATABASE_URL", "postgresql:///tb?host=/run/postgresql", "databaseUrl", "postgresql:///tb?host=/run/postgresql"],
  ["TB_API_KEY", KEY, "apiKey", KEY],
  ["TB_ADMIN_KEY", `${KEY}Z9`, "adminKey", `${KEY}Z9`],
  ["TB_RATE_LIMIT", "off", "rateLimit", null],
  ["TB_RATE_LIMIT", "5/1s", "rateLimit", { limit: 5, windowSeconds: 1 }],
  ["TB_RATE_LIMIT", "1000/5m", "rateLimit", { limit: 1000, windowSeconds: 300 }],
  ["TB_WEBHOOK_RETRY_SCHEDULE", "10ms", "webhookRetryScheduleMs", [10]],
  ["TB_WEBHOOK_RETRY_SCHEDULE", "1s, 2m,3h", "webhookRetryScheduleMs", [1_000, 120_000, 10_800_000]],
  ["TB_WEBHOOK_CONCURRENCY", "1", "webhookConcurrency", 1],
  ["TB_WEBHOOK_CONCURRENCY", "256", "webhookConcurrency", 256],
  ["TB_FALLBACK_AFTER", "10s", "fallbackAfterMs", 10_000],
  ["TB_FALLBACK_AFTER", "24h", "fallbackAfterMs", 86_400_000],
  ["TB_MESSAGE_TTL", "90s", "messageTtlMs", 90_000],
  ["TB_RETENTION", "0", "retentionMs", null],
  ["TB_RETENTION", "7d", "retentionMs", 604_800_000],
  ["TB_SECRET_KEY", "ab".repeat(32), "secretKey", Buffer.alloc(32, 0xab)],
  ["TB_SECRET_KEY", Buffer.alloc(32, 0xfb).toString("base64"), "secretKey", Buffer.alloc(32, 0xfb)],
  ["TB_SECRET_KEY", Buffer.alloc(32, 0xfb).toString("base64url"), "secretKey", Buffer.alloc(32, 0xfb)],
  ["TB_PAYMENT_TEXT", "on", "paymentText", true],
  ["TB_SMART_ENCODING", "on", "smartEncoding", true],
  ["TB_SANDBOX_INBOX", "off", "sandboxInbox", false],
  ["TB_REQUEST_LOG", "bodies", "requestLog", "bodies"],
  ["LOG_LEVEL", "silent", "logLevel", "silent"],
];

test("every setting is read from the environment and from a flag, and the flag wins", () => {
  for (const [name, text, field, value] of TAKEN) {
    const flag = `--${name.toLowerCase().replaceAll("_", "-")}`;
    assert.deepEqual(readConfig({ [name]: text })[field], value, `${name}=${text}`);
    assert.deepEqual(readConfig({}, { [flag]: text })[field], value, `${flag} ${text}`);
    assert.deepEqual(readConfig({ [name]: "nonsense !\0" }, { [flag]: text })[field], value, `${flag} over ${name}`);
  }
});

const REFUSED: [string, string[], RegExp][] = [
  ["PORT", ["abc", "-1", "65536", "80.5", "8080 ", "0x50", "1e3"], /a whole number from 0 to 65535/],
  ["HOST", ["http://localhost", "a b", "[::1]", "-x", "host:80"], /an IP address or a host name/],
  ["TB_DATA_DIR", ["a\0b"], /a path/],
  [
    "TB_PUBLIC_URL",
    [
      "example.com",
      "ftp://example.com",
      "https://u:p@example.com",
      "https://example.com/?",
      "https://example.com/#x",
      "/",
    ],
    /an http or https URL without credentials/,
  ],
  [
    "DATABASE_URL",
    [
      "x",
      "mysql://localhost/tightbeam",
      "postgres://localhost",
      "postgres://localhost/",
      "postgres://localhost/a/b",
      "postgres:///tightbeam",
      "postgres://user:pass#word@localhost/tightbeam",
    ],
    /a URL such as postgres:\/\/user:password@host:5432\/database/,
  ],
  ["TB_ROLE", ["both", "ALL"], /must be all, api or worker/],
  ["TB_API_KEY", ["secret", `tb_${"a".repeat(31)}`, `tb_${"a".repeat(31)}-`, `${KEY} `], /tb_ followed by 32 or more/],
  ["TB_ADMIN_KEY", ["secret", "tb_"], /tb_ followed by 32 or more/],
  [
    "TB_RATE_LIMIT",
    ["100", "0/60s", "100/0s", "100/60", "100/60s/2", "100/500ms", "1.5/1s", "100/2d", "2000000/1s", "on"],
    /off, or 1 to 1000000 requests in 1s to 1d, such as 100\/60s/,
  ],
  ["TB_WEBHOOK_ALLOW", ["10.0.0.0/99", "not a host", "https://example.com", "10.0.0.1,*"], /networks .* \(".+" is not/],
  ["TB_TRUSTED_PROXIES", ["10.0.0.0/99", "proxy.example"], /networks .* \(".+" is/],
  ["TB_FETCH_ALLOW", ["10.0.0.0/99", "a/b"], /networks .* \(".+" is not/],
  [
    "TB_WEBHOOK_RETRY_SCHEDULE",
    ["30", "30s;5m", "0s", "30s,,5m", "31d", ",", Array(21).fill("1s").join(",")],
    /1 to 20 durations from 1ms to 30d/,
  ],
  ["TB_FALLBACK_AFTER", ["9s", "25h", "0", "on"], /off, or a duration from 10s to 24h/],
  ["TB_MESSAGE_TTL", ["0", "0s", "366d", "72"], /a duration from 1s to 365d/],
  ["TB_RETENTION", ["0s", "59s", "3651d", "off"], /0, or a duration from 1m to 3650d/],
  ["TB_SECRET_KEY", ["secret", "ab".repeat(31), "ab".repeat(33), `${"a".repeat(42)}=`], /32 bytes, as 64 hexadecimal/],
  ["TB_PAYMENT_TEXT", ["true", "ON", "1"], /on or off/],
  ["TB_SANDBOX_INBOX", ["no", "0"], /on or off/],
  ["TB_REQUEST_LOG", ["yes", "body"], /one of off, on, bodies/],
  ["LOG_LEVEL", ["verbose", "INFO"], /one of fatal, error, warn, info, debug, trace, silent/],
];

test("a bad value stops the start with one line that names the setting, the value and what is allowed", () => {
  for (const [name, texts, rule] of REFUSED) {
    const { secret, flag } = SETTINGS.find((row) => row.name === name) ?? assert.fail(name);
    for (const text of texts) {
      const shown = secret ? "set to something else (not shown)" : JSON.stringify(text);
      const refused = (source: string) => (error: unknown) => {
        assert.ok((error as Error).message.startsWith(`${source} is ${shown}: it must be `), (error as Error).message);
        if (secret && text.length > 8) assert.ok(!(error as Error).message.includes(text.trim()));
        return refusedWith(rule)(error);
      };
      assert.throws(() => readConfig({ [name]: text }), refused(name), `${name}=${text}`);
      assert.throws(() => readConfig({}, { [flag]: text }), refused(flag), `${flag} ${text}`);
    }
  }
});

test("an empty value counts as unset", () => {
  const empty = Object.fromEntries(SETTINGS.map((row) => [row.name, ""]));
  const { webhookAllow: _, webhookAllowReal: _real, settings, ...config } = readConfig({ ...empty });
  const { webhookAllow: __, webhookAllowReal: __real, settings: ___, ...defaults } = readConfig({});
  assert.deepEqual(config, defaults);
  const given = settings.filter(({ source }) => source !== "default").map(({ name }) => name);
  assert.deepEqual(given, ["TB_WEBHOOK_ALLOW", "TB_FETCH_ALLOW"], "except that it empties the two allow lists");
});

test("each setting tells its value and where it comes from, a secret only whether it is given", () => {
  const secrets = { TB_ADMIN_KEY: `tb_${"a".repeat(32)}`, DATABASE_URL: "postgres://me:hush@db/tightbeam" };
  const env = { ...secrets, HOST: "::1", PORT: "nonsense", TB_SECRET_KEY: "" };
  const { settings } = readConfig(env, { "--port": "9000", "--tb-secret-key": "ab".repeat(32) });
  assert.deepEqual(
    settings.map(({ name }) => name),
    SETTINGS.map(({ name }) => name),
  );
  const found = (wanted: string) => settings.find(({ name }) => name === wanted);
  assert.deepEqual(found("PORT"), { name: "PORT", value: "9000", source: "flag", isSecret: false });
  assert.deepEqual(found("HOST"), { name: "HOST", value: "::1", source: "environment", isSecret: false });
  assert.deepEqual(found("LOG_LEVEL"), { name: "LOG_LEVEL", value: "info", source: "default", isSecret: false });
  assert.equal(found("TB_PUBLIC_URL")?.value, null);
  const told = settings.filter(({ isSecret }) => isSecret).map(({ name, value, source }) => [name, value, source]);
  assert.deepEqual(told, [
    ["DATABASE_URL", null, "environment"],
    ["TB_API_KEY", null, "default"],
    ["TB_ADMIN_KEY", null, "environment"],
    ["TB_SECRET_KEY", null, "flag"],
  ]);
  assert.doesNotMatch(JSON.stringify(settings), /hush|aaaa|abab/);
});

test("webhooks may go to loopback addresses by default while HOST and TB_PUBLIC_URL are loopback, and otherwise to no private address", () => {
  for (const [host, open] of [
    ["127.0.0.1", true],
    ["127.8.8.8", true],
    ["::1", true],
    ["localhost", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.1.2", false],
    ["sms.example.com", false],
  ] as const) {
    assert.equal(isLoopback(host), open, host);
    assert.equal(allows(readConfig({ HOST: host }).webhookAllow, LOOPBACK_TARGET), open, host);
  }
});

test("a set TB_WEBHOOK_ALLOW replaces the default, even if it is empty", () => {
  assert.equal(allows(readConfig({ TB_WEBHOOK_ALLOW: "" }).webhookAllow, LOOPBACK_TARGET), false);
  const publicUrls: [url: string, open: boolean][] = [
    ["https://tightbeam.example", false],
    ["http://203.0.113.7:8080", false],
    ["http://localhost:9000", true],
    ["http://[::1]:9000/base", true],
    ["http://127.0.0.5", true],
  ];
  for (const [url, open] of publicUrls) {
    assert.equal(allows(readConfig({ TB_PUBLIC_URL: url }).webhookAllow, LOOPBACK_TARGET), open, url);
  }
  const { webhookAllow } = readConfig({ TB_WEBHOOK_ALLOW: "10.0.0.0/8,hooks.internal" });
  assert.equal(allows(webhookAllow, LOOPBACK_TARGET), false);
  assert.equal(allows(webhookAllow, { host: "10.1.2.3", ip: "10.1.2.3" }), true);
  assert.equal(allows(webhookAllow, { host: "hooks.internal", ip: null }), true);
});

test("the two ready keys must differ", () => {
  assert.throws(
    () => readConfig({ TB_API_KEY: KEY, TB_ADMIN_KEY: KEY }),
    refusedWith(/^TB_API_KEY and TB_ADMIN_KEY are the same key/),
  );
});

test("a flag that does not exist stops the start, and the nearest one is named", () => {
  assert.throws(() => readConfig({}, { "--prot": "1" }), refusedWith(/"--prot" is not a flag: did you mean --port\?/));
  assert.throws(
    () => readConfig({}, { "--colour": "1" }),
    refusedWith(/"--colour" is not a flag: tightbeam serve --help/),
  );
});

test("an unknown TB_ variable causes a warning, and other variables are ignored", () => {
  const { warnings } = readConfig({ TB_RETENTON: "1d", TB_SOMETHING_ELSE: "x", PATH: "/bin", TBX: "1" });
  assert.deepEqual(warnings, [
    "TB_RETENTON is not a setting and is ignored: did you mean TB_RETENTION?",
    "TB_SOMETHING_ELSE is not a setting and is ignored.",
  ]);
});

test("the base URL is TB_PUBLIC_URL, else made of host and the port listened on", () => {
  const at = (env: Record<string, string>) => baseUrl(readConfig(env), 4000);
  assert.equal(at({}), "http://127.0.0.1:4000");
  assert.equal(at({ HOST: "localhost" }), "http://localhost:4000");
  assert.equal(at({ HOST: "0.0.0.0" }), "http://127.0.0.1:4000");
  assert.equal(at({ HOST: "::" }), "http://[::1]:4000");
  assert.equal(at({ HOST: "fe80::1" }), "http://[fe80::1]:4000");
  assert.equal(at({ TB_PUBLIC_URL: "https://sms.example.com/" }), "https://sms.example.com");
});
