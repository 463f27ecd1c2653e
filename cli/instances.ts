/** `tightbeam instances`: the rows of its commands. They need the admin key, and show no secret. */

import { type Instance, PROVIDERS, type ProviderName } from "../sdk/wire.ts";
import { printableLine } from "../server/core/printable.ts";
import { ago } from "./ago.ts";
import type { Cli } from "./cli.ts";
import { type CommandRow, list, present, request, type Value } from "./command.ts";
import { UsageError } from "./failure.ts";
import { parseJson, readJson } from "./files.ts";
import { listing, type Paint, statusStyle } from "./output.ts";
import { REQUEST_FIELDS } from "./request-fields.ts";

const INSTANCE = { "<id>": "instance id (inst_…)" };

interface ConfigOptions {
  config?: string;
  configFile?: string;
}

const CONFIG_OPTIONS: Readonly<Record<string, Value>> = {
  "--config <json>": `${REQUEST_FIELDS.CreateInstance.config}, as JSON`,
  "--config-file <path>": { help: "a file with its settings, or - for standard input", conflicts: "config" },
};

const CONFIG_NOTES = `Settings by provider:
  sandbox      {}
  bluebubbles  {"url", "password", "ingest": "webhook" or "socket"}
  smpp         {"host", "port", "systemId", "password", "bindMode": "transceiver" or "pair", …}
  twilio       {"accountSid", "authToken", "messagingServiceSid"?, "baseUrl"?, "ownConfirmation"?}

Other users of this machine can see secrets in --config while the command runs, and the shell's history keeps them:
put secrets into a file that only you can read.`;

/** Commands about the accounts and machines that carry messages. */
export const instances: CommandRow = {
  name: "instances",
  key: "admin",
  help: "Connect the accounts and machines that carry messages. Needs the admin key.",
  examples: {
    "tightbeam instances list": "what is connected, with its health",
    "tightbeam instances create Mac --provider bluebubbles --config-file mac.json": "connect one",
    "tightbeam instances get <id>": "one with its warnings",
  },
  commands: [
    list({
      name: "list",
      help: "List instances, their health and the age of their last event, the newest first.",
      examples: { "tightbeam instances list | jq -r '.[].warnings[]'": "all warnings" },
      pages: (client) => client.admin.instances,
      items: (page) => page.instances,
      columns: [
        { title: "ID", value: (instance) => instance.id },
        { title: "PROVIDER", value: (instance) => instance.provider },
        { title: "HEALTH", value: (instance) => instance.health, style: (instance) => statusStyle(instance.health) },
        { title: "WARNINGS", value: (instance) => instance.warnings.length },
        {
          title: "LAST EVENT",
          optional: true,
          value: ({ lastEventAt }) => lastEventAt && ago(lastEventAt, Date.now()),
        },
        { title: "NAME", value: (instance) => instance.name },
      ],
      empty: "No instances.",
    }),
    request({
      name: "get",
      help: "Show one instance: its settings without secrets, its health, its warnings and its last event.",
      arguments: INSTANCE,
      examples: { "tightbeam instances get <id> | jq -r .health": "one field of it" },
      call: (client, id: string) => client.admin.instances.get(id),
      show: detail,
    }),
    {
      name: "create",
      help: "Connect an instance.",
      arguments: { "<name>": "display name" },
      options: {
        "--provider <provider>": { help: REQUEST_FIELDS.CreateInstance.provider, choices: PROVIDERS, required: true },
        ...CONFIG_OPTIONS,
        "--idempotency-key <key>": REQUEST_FIELDS.CreateInstance.idempotencyKey,
      },
      examples: {
        "tightbeam instances create Mac --provider bluebubbles --config-file mac.json": "",
        "tightbeam instances create Playground --provider sandbox": "needs no settings",
      },
      notes: CONFIG_NOTES,
      run: create,
    },
    request({
      name: "update",
      help: "Change an instance's name or the given settings. It reconnects.",
      arguments: INSTANCE,
      options: { "--name <name>": "the new display name", ...CONFIG_OPTIONS },
      examples: {
        'tightbeam instances update <id> --name "Mac in the office"': "",
        "tightbeam instances update <id> --config-file new-password.json": "a new password, all else as it was",
      },
      notes: CONFIG_NOTES,
      call: async (client, id: string, { name, ...given }: ConfigOptions & { name?: string }) => {
        const changes = present({ name, config: configOf(given) });
        if (Object.keys(changes).length === 0) {
          throw new UsageError("name what is to be changed: --name, --config-file.");
        }
        return await client.admin.instances.update(id, changes);
      },
      show: detail,
    }),
    request({
      name: "delete",
      help: "Delete an instance. Refused while it has numbers or a route names it.",
      arguments: INSTANCE,
      examples: { "tightbeam instances delete <id>": "" },
      call: (client, id: string) => client.admin.instances.delete(id),
      show: ({ id }) => `${id} deleted`,
    }),
  ],
};

async function create(
  cli: Cli,
  name: string,
  { provider, idempotencyKey, ...given }: ConfigOptions & { provider: ProviderName; idempotencyKey?: string },
): Promise<void> {
  const config = configOf(given) ?? {};
  const { instances: api } = cli.client().admin;
  const keysBefore = cli.storedKeys();
  cli.output().show(await api.create({ name, provider, config }, { idempotencyKey }), detail);
  noteRemovedKeys(cli, keysBefore);
}

/** Reports the keys that the service removed from `credentials.json`, as it does with the first real instance. */
function noteRemovedKeys({ terminal, storedKeys, output }: Cli, before: Record<string, string>): void {
  const kept = storedKeys();
  const gone = Object.entries(before).filter(([name]) => kept[name] === undefined && !terminal.env[name]);
  if (gone.length === 0) return;
  const why = "credentials.json holds no keys any more: this is the first instance that is not a sandbox.";
  const isSeen = terminal.stderr.isTTY === true;
  const lines = gone.map(([name, key]) => `  export ${name}=${isSeen ? key : "tb_…"}`);
  const what = isSeen ? "They are shown for the last time. Store them:" : "Set those that the first start printed:";
  output().note(`${why}\n${what}\n${lines.join("\n")}`);
}

/** The given settings. Throws `UsageError`, quoting nothing of them, if they are no JSON object. */
function configOf({ config, configFile }: ConfigOptions): Record<string, unknown> | undefined {
  if (config === undefined && configFile === undefined) return undefined;
  const value = config === undefined ? readJson(configFile ?? "-") : parseJson(config, "--config");
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${config === undefined ? configFile : "--config"} is no JSON object.`);
}

function detail(instance: Instance, paint: Paint): string {
  const { id, name, provider, health, config, warnings, lastEventAt, hookUrl, updatedAt } = instance;
  const lastEvent = lastEventAt ? `${ago(lastEventAt, Date.now())} (${lastEventAt})` : "none yet";
  const settings = JSON.stringify(config);
  const facts = listing({ id, name, provider, health, lastEvent, config: settings, hookUrl, updatedAt }, paint);
  return [facts, ...warnings.map((warning) => paint("yellow", `! ${printableLine(warning)}`))].join("\n");
}
