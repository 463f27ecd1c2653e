/** The files for servers under test: what they set, open, mount, ask and wait for is what the service has. Runs the bundler and the image's health check. */

import assert from "node:assert/strict";
import { globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { parse, parseAllDocuments } from "yaml";
import { bundle } from "../cli/bundle.ts";
import { type HealthOptions, healthRoutes } from "../server/api/health.ts";
import { KEEP_ALIVE_MS } from "../server/api/pipeline/connection.ts";
import { connectionsMaxOf } from "../server/api/pipeline/connection-limit.ts";
import { ATTACHMENT_BODY_BYTES_MAX } from "../server/api/route.ts";
import { STOP_MS_MAX } from "../server/app/serve.ts";
import { baseUrl, readConfig, SETTINGS } from "../server/config.ts";
import { hostOf, inRanges, isLoopback } from "../server/core/address.ts";
import { parseDuration } from "../server/core/duration.ts";
import { freePort } from "./support/free-port.ts";
import { spawnCommand } from "./support/process.ts";
import { startTestService } from "./support/service.ts";

const ROOT = fileURLToPath(new URL("../", import.meta.url));

function read(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}

// biome-ignore lint/suspicious/noExplicitAny: the files are read field by field, and a test fails on what is not there.
type Loose = any;

/** The instructions of the image's last stage, with continued lines joined. */
const IMAGE = (
  read("Dockerfile")
    .split(/^FROM /m)
    .at(-1) ?? ""
)
  .replace(/\\\n/g, "")
  .split("\n")
  .map((line) => /^([A-Z]+)\s+(.*)$/.exec(line.trim()))
  .flatMap((found) => (found === null ? [] : [{ instruction: found[1] ?? "", value: found[2] ?? "" }]));

function imageSays(instruction: string): string {
  return (
    IMAGE.find((one) => one.instruction === instruction)?.value ?? assert.fail(`no ${instruction} in the Dockerfile`)
  );
}

const IMAGE_SETTINGS = assignmentsIn(imageSays("ENV").split(" "));
const HEALTH_COMMAND = JSON.parse(/CMD (\[.*\])$/.exec(imageSays("HEALTHCHECK"))?.[1] ?? "[]") as string[];

const COMPOSE: Loose = parse(read("deploy/compose.yaml"), { merge: true });
const CLUSTER: Loose = parse(read("deploy/compose.postgres.yaml"), { merge: true });
/** The processes of the service in `compose.postgres.yaml`. */
const MEMBERS: [name: string, service: Loose][] = Object.entries<Loose>(CLUSTER.services).filter(
  ([, { image }]) => image === "tightbeam",
);
const OBJECTS: Loose[] = parseAllDocuments(read("deploy/kubernetes.yaml")).map((document) => document.toJS());

function objectOf(kind: string): Loose {
  return OBJECTS.find((object) => object.kind === kind) ?? assert.fail(`no ${kind} in kubernetes.yaml`);
}

const POD: Loose = objectOf("StatefulSet").spec.template.spec;
const CONTAINER: Loose = POD.containers[0];

/** The directives of the unit's section `[Service]`. A directive may occur several times. */
const UNIT = (read("deploy/tightbeam.service").split("[Service]")[1] ?? "").split("[Install]")[0] ?? "";

function unitSays(name: string): string {
  const values = [...UNIT.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value]) => value ?? "");
  return values.length > 0 ? values.join(" ") : assert.fail(`the unit has no ${name}`);
}

function assignmentsIn(lines: readonly string[]): Record<string, string> {
  const found = lines.flatMap((line) => (/^[A-Z_]+=/.test(line) ? [line.split("=")] : []));
  return Object.fromEntries(found.map(([name = "", ...value]) => [name, value.join("=")]));
}

/** The `.env` beside the compose files, as docs/operating.md writes it. */
const IN_ENV_FILE: Readonly<Record<string, string>> = {
  DOMAIN: "messages.example.com",
  POSTGRES_PASSWORD: "0123456789abcdef",
  TB_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
  TB_API_KEY: `tb_${"a".repeat(40)}`,
  TB_ADMIN_KEY: `tb_${"b".repeat(40)}`,
};

/** The value of `${NAME:-default}` and `${NAME:?error}` in a compose file. */
function substituted(value: string): string {
  return value
    .replace(/\$\{\w+:-([^}]*)\}/g, "$1")
    .replace(/\$\{(\w+)[^}]*\}/g, (_, name: string) => IN_ENV_FILE[name] ?? assert.fail(`${name} is in no .env`));
}

/** The variables that each arrangement gives to the service. */
const ENVIRONMENTS: Record<string, Record<string, string>> = {
  image: IMAGE_SETTINGS,
  compose: { ...IMAGE_SETTINGS, ...mapped(COMPOSE.services.tightbeam.environment) },
  ...Object.fromEntries(
    MEMBERS.map(([name, { environment }]) => [name, { ...IMAGE_SETTINGS, ...mapped(environment) }]),
  ),
  kubernetes: {
    ...IMAGE_SETTINGS,
    ...Object.fromEntries(CONTAINER.env.map((one: Loose) => [one.name, one.value])),
  },
  systemd: {
    ...assignmentsIn(unitSays("Environment").split(" ")),
    ...assignmentsIn(read("deploy/tightbeam.env").split("\n")),
  },
};

function mapped(environment: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, substituted(value)]));
}

for (const [name, environment] of Object.entries(ENVIRONMENTS)) {
  test(`${name}: every variable is a setting with an allowed value, and none is a secret`, () => {
    const rows = new Map(SETTINGS.map((row) => [row.name, row]));
    for (const variable of Object.keys(environment).filter((one) => one !== "NODE_COMPILE_CACHE")) {
      const isFromEnvFile = name in CLUSTER.services && CLUSTER.services[name].environment[variable]?.includes("${");
      assert.equal(rows.get(variable)?.secret && !isFromEnvFile, false, `${variable} is no setting, or a secret`);
    }
    const config = readConfig(environment);
    assert.deepEqual(config.warnings, []);
    assert.deepEqual(config.webhookAllow, readConfig({ TB_WEBHOOK_ALLOW: "" }).webhookAllow, "no private address");
    if (name === "image") return;
    assert.equal(isLoopback(hostOf(baseUrl(config, config.port))), false, "links lead to the public address");
    assert.equal(config.sandboxInbox, false);
  });
}

test("every stop is longer than the service needs", () => {
  const stops = {
    compose: parseDuration(COMPOSE.services.tightbeam.stop_grace_period) ?? 0,
    ...Object.fromEntries(MEMBERS.map(([name, service]) => [name, parseDuration(service.stop_grace_period) ?? 0])),
    kubernetes: POD.terminationGracePeriodSeconds * 1_000,
    systemd: Number(unitSays("TimeoutStopSec")) * 1_000,
  };
  for (const [name, stopMs] of Object.entries(stops)) assert.ok(stopMs > STOP_MS_MAX, `${name}: ${stopMs} ms`);
  assert.equal(imageSays("STOPSIGNAL"), "SIGTERM");
});

test("every probe asks a health route at the service's port", () => {
  const paths = healthRoutes({} as HealthOptions).map((route) => route.path);
  const probes = ["startupProbe", "readinessProbe", "livenessProbe"].map((probe) => CONTAINER[probe].httpGet);
  for (const { path, port } of probes) {
    assert.ok(paths.includes(path), path);
    assert.equal(port, CONTAINER.ports[0].name);
  }
});

test("proxies, probes and the image name one port", () => {
  const { port } = readConfig(IMAGE_SETTINGS);
  assert.equal(Number(imageSays("EXPOSE")), port);
  assert.equal(CONTAINER.ports[0].containerPort, port);
  assert.equal(COMPOSE.services.caddy.environment.UPSTREAM, `tightbeam:${port}`);
  assert.equal(objectOf("Service").spec.ports[0].targetPort, CONTAINER.ports[0].name);
  // On one machine without containers the service listens at its default.
  const own = readConfig(ENVIRONMENTS.systemd ?? {});
  assert.match(read("deploy/Caddyfile"), new RegExp(`\\{\\$UPSTREAM:${own.host}:${own.port}\\}`));
  assert.match(read("deploy/nginx.conf"), new RegExp(`server ${own.host}:${own.port};`));
});

test("the image's health check succeeds while the service is ready, and fails where nothing listens", async (t) => {
  assert.equal(HEALTH_COMMAND.shift(), "/opt/tightbeam/bin/node");
  const check = (port: number) => spawnCommand(t, [process.execPath, ...HEALTH_COMMAND], { PORT: String(port) }).exited;
  const port = await freePort();
  const service = await startTestService({ PORT: String(port) });
  const whileReady = await check(port);
  await service.stop();
  const afterwards = await check(port);
  assert.deepEqual([whileReady.code, afterwards.code], [0, 1]);
});

test("the data is in one directory, which is mounted and belongs to the service's user", () => {
  const { dataDir } = readConfig(IMAGE_SETTINGS);
  assert.equal(imageSays("VOLUME"), dataDir);
  assert.deepEqual(COMPOSE.services.tightbeam.volumes, [`data:${dataDir}`]);
  assert.equal(CONTAINER.volumeMounts[0].mountPath, dataDir);
  assert.ok(ENVIRONMENTS.kubernetes?.TB_DATA_DIR?.startsWith(`${dataDir}/`));
  assert.equal(`/var/lib/${unitSays("StateDirectory")}`, dataDir);
  assert.equal(ENVIRONMENTS.systemd?.TB_DATA_DIR, dataDir);
  assert.match(read("cli/dist.ts"), new RegExp(`TB_DATA_DIR:-${dataDir}\\}`));

  const user = imageSays("USER").split(":")[0] ?? "";
  assert.match(imageSays("RUN"), new RegExp(`--owner=${user} --group=${user} --mode=0700 ${dataDir}`));
  assert.match(imageSays("RUN"), new RegExp(`useradd --uid ${user} --gid ${user}`));
  const { runAsUser, runAsGroup, fsGroup } = POD.securityContext;
  assert.deepEqual([runAsUser, runAsGroup, fsGroup].map(String), [user, user, user]);
});

test("nothing has more rights than it needs", () => {
  for (const service of [COMPOSE, CLUSTER].flatMap(({ services }) => Object.values<Loose>(services))) {
    assert.equal(service.read_only, true);
    assert.deepEqual(service.cap_drop, ["ALL"]);
    assert.deepEqual(service.security_opt, ["no-new-privileges:true"]);
    assert.equal(service.restart, "unless-stopped");
    assert.ok(service.logging.options["max-size"]);
  }
  for (const { services } of [COMPOSE, CLUSTER]) {
    const published = Object.entries<Loose>(services).filter(([, { ports }]) => ports !== undefined);
    assert.deepEqual(
      published.map(([name]) => name),
      ["caddy"],
    );
  }
  assert.deepEqual(CONTAINER.securityContext, {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ["ALL"] },
  });
  assert.equal(POD.securityContext.runAsNonRoot, true);
  assert.equal(POD.automountServiceAccountToken, false);
  assert.equal(unitSays("CapabilityBoundingSet"), "");
  assert.equal(unitSays("ProtectSystem"), "strict");
});

test("compose.postgres.yaml has two processes of each role on one database, and the proxy in front of those that accept requests", () => {
  const byRole = (role: string) => MEMBERS.filter(([, { environment }]) => environment.TB_ROLE === role);
  assert.deepEqual([byRole("api").length, byRole("worker").length, MEMBERS.length], [2, 2, 4]);
  const { port } = readConfig(IMAGE_SETTINGS);
  const upstreams = byRole("api").map(([name]) => `${name}:${port}`);
  assert.equal(CLUSTER.services.caddy.environment.UPSTREAM, upstreams.join(" "));
  assert.deepEqual(
    CLUSTER.services.caddy.depends_on,
    byRole("api").map(([name]) => name),
  );
  for (const [name, { environment, depends_on, tmpfs }] of MEMBERS) {
    const { databaseUrl, dataDir, memberUrl } = readConfig(ENVIRONMENTS[name] ?? {});
    assert.equal(memberUrl, `http://${name}:${port}`, "the others reach it by its name");
    const { hostname, username, pathname } = new URL(databaseUrl ?? "");
    const { environment: database } = CLUSTER.services[hostname];
    assert.deepEqual([username, pathname], [database.POSTGRES_USER, `/${database.POSTGRES_DB}`]);
    assert.ok(environment.DATABASE_URL.includes("${POSTGRES_PASSWORD"));
    assert.deepEqual(Object.keys(depends_on), [hostname]);
    assert.ok(tmpfs[0].startsWith(`${dataDir}:uid=${imageSays("USER").split(":")[0]},`));
  }
});

test("the PostgreSQL of compose.postgres.yaml has connections for twice the processes", () => {
  const { command, image } = CLUSTER.services.postgres;
  const connections = Number(/max_connections=(\d+)/.exec(command.join(" "))?.[1]);
  const each = Number(/A process uses at most (\d+) connections/.exec(read("docs/operating.md"))?.[1]);
  assert.ok(connections >= 2 * MEMBERS.length * each, `${connections} for ${MEMBERS.length} processes of ${each}`);
  assert.match(image, /^postgres:1[5-8]\b/);
});

test("docs/operating.md writes the .env that compose.postgres.yaml needs", () => {
  const written = /cat > \.env <<END\n(.*?)END/s.exec(read("docs/operating.md"))?.[1] ?? "";
  const names = [...written.matchAll(/^(\w+)=/gm)].map(([, name]) => name);
  const needed = [...read("deploy/compose.postgres.yaml").matchAll(/\$\{(\w+)(?::\?[^}]*)?\}/g)].map(
    ([, name]) => name,
  );
  assert.deepEqual(names.sort(), [...new Set(needed)].sort());
});

test("a client is named by no machine but the proxy: Kubernetes trusts nobody until it is told, and compose its own network", () => {
  const trusts = (name: string, address: string) =>
    inRanges(readConfig(ENVIRONMENTS[name] ?? {}).trustedProxies, address);
  for (const address of ["10.244.0.7", "10.0.0.7", "172.16.0.7", "192.168.0.7", "100.64.0.7", "fd00::7"])
    assert.equal(trusts("kubernetes", address), false, address);
  for (const [{ networks }, names] of [
    [COMPOSE, ["compose"]],
    [CLUSTER, MEMBERS.map(([name]) => name)],
  ] as const) {
    const { subnet } = networks.default.ipam.config[0];
    for (const name of names) assert.equal(ENVIRONMENTS[name]?.TB_TRUSTED_PROXIES, subnet);
  }
});

test("Kubernetes runs one pod, because the database belongs to one process", () => {
  assert.equal(objectOf("StatefulSet").spec.replicas, 1);
});

test("the limit of open files leaves room for every connection", () => {
  const all = connectionsMaxOf(Number.POSITIVE_INFINITY);
  assert.equal(connectionsMaxOf(Number(unitSays("LimitNOFILE"))), all);
  for (const { ulimits } of [COMPOSE.services.tightbeam, ...MEMBERS.map(([, service]) => service)])
    assert.equal(connectionsMaxOf(ulimits.nofile), all);
});

test("proxies close idle connections before the service does, and let its largest body through", () => {
  const caddy = parseDuration(/^\s*keepalive (\S+)$/m.exec(read("deploy/Caddyfile"))?.[1] ?? "");
  const nginx = parseDuration(/^\s*keepalive_timeout (\S+);$/m.exec(read("deploy/nginx.conf"))?.[1] ?? "");
  for (const idleMs of [caddy, nginx]) assert.ok(idleMs !== null && idleMs < KEEP_ALIVE_MS, `${idleMs}`);
  const mebibytes = Number(/client_max_body_size (\d+)m;/.exec(read("deploy/nginx.conf"))?.[1]);
  assert.ok(mebibytes * 1_048_576 > ATTACHMENT_BODY_BYTES_MAX);
});

/** Whether the last matching line of `.dockerignore` lets the file into the build. */
function isInBuild(path: string): boolean {
  const rules = read(".dockerignore")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return rules.reduce((isIn, rule) => (matches(path, rule.replace(/^!/, "")) ? rule.startsWith("!") : isIn), true);
}

/** Patterns of `.dockerignore` as far as this repository uses them: a path, `*`, and `**` in front. */
function matches(path: string, pattern: string): boolean {
  const parts = pattern
    .replace(/^\*\*\//, "")
    .replaceAll(".", "\\.")
    .replaceAll("*", "[^/]*");
  return new RegExp(`^${pattern.startsWith("**/") ? "(.*/)?" : ""}${parts}(/|$)`).test(path);
}

test("the image's build gets every file that it reads, and no data, keys or tests", async (t) => {
  const directory = mkdtempSync(join(tmpdir(), "tightbeam-bundle-"));
  t.after(() => rmSync(directory, { recursive: true }));
  const modules = (await bundle(ROOT, directory)).filter((path) => path.startsWith(ROOT));
  const own = modules.map((path) => relative(ROOT, path)).filter((path) => !path.startsWith("node_modules/"));
  const files = [...own, "package.json", "package-lock.json", ".npmrc", "LICENSE", "cli/dist.ts", "cli/bin.js"];
  assert.ok(own.length > 100);
  assert.deepEqual(
    files.filter((path) => !isInBuild(path)),
    [],
  );
  const others = ["data/secret.key", ".env", "deploy/.env", ".git/config", "node_modules/ajv/x.js", "cli/bin.test.ts"];
  assert.deepEqual(others.filter(isInBuild), []);
});

test("the table of files in docs/operating.md names every file for servers, and no other", () => {
  const section =
    read("docs/operating.md")
      .split(/^## Running it$/m)[1]
      ?.split(/^## /m)[0] ?? "";
  const named = [...section.matchAll(/^\| \[`([^`]+)`\]\(\.\.\/([^)]+)\)/gm)].map(([, name, link]) => {
    assert.equal(name, link);
    return name;
  });
  const files = ["Dockerfile", ...globSync("deploy/*", { cwd: ROOT })];
  assert.deepEqual(named.sort(), files.sort());
});
