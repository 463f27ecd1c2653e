/** `tightbeam instances`: the accounts and machines that messages go out by. Needs the admin key; shows no secret. */

import { type Command, Option } from "commander";
import { type Instance, PROVIDERS, type ProviderName } from "../sdk/wire.ts";
import { addPaging, type Cli, examples, type Paging, showList } from "./command.ts";
import { UsageError } from "./failure.ts";
import { parseJson, readJson } from "./files.ts";
import { listing, type Paint, printable, statusStyle } from "./output.ts";
import type { Column } from "./table.ts";

const COLUMNS: readonly Column<Instance>[] = [
  { title: "ID", value: (instance) => instance.id },
  { title: "PROVIDER", value: (instance) => instance.provider },
  { title: "HEALTH", value: (instance) => instance.health, style: (instance) => statusStyle(instance.health) },
  { title: "WARNINGS", value: (instance) => instance.warnings.length },
  { title: "NAME", value: (instance) => instance.name },
];

interface ConfigOptions {
  config?: string;
  configFile?: string;
}

/** Adds `instances` and what is under it. */
export function addInstances(program: Command, cli: Cli): void {
  const instances = program
    .command("instances")
    .description("Connect accounts and machines that messages go out by. Needs the admin key.")
    .addHelpText(
      "after",
      examples({
        "tightbeam instances list": "what is connected, and whether it is well",
        "tightbeam instances create Mac --provider bluebubbles --config-file mac.json": "connect one",
        "tightbeam instances get <id>": "one with its warnings",
      }),
    );
  addPaging(instances.command("list").description("List instances and their health, the newest first."))
    .addHelpText(
      "after",
      examples({ "tightbeam instances list | jq -r '.[].warnings[]'": "what to do something about" }),
    )
    .action((options: Paging) => {
      const { list, listAll } = cli.client("admin").admin.instances;
      return showList(
        cli,
        { list, listAll, itemsOf: (page) => page.instances, columns: COLUMNS, empty: "No instances." },
        options,
      );
    });
  instances
    .command("get")
    .description("Show one instance: its settings without their secrets, its health and its warnings.")
    .argument("<id>", "instance id (inst_…)")
    .addHelpText("after", examples({ "tightbeam instances get <id> | jq -r .health": "one field of it" }))
    .action(async (id: string) => cli.output().show(await cli.client("admin").admin.instances.get(id), detail));
  addChanges(instances, cli);
}

/** What a provider needs. */
const CONFIGS = `Settings by provider:
  sandbox      {}
  bluebubbles  {"url", "password", "ingest": "webhook" or "socket"}
  smpp         {"host", "port", "systemId", "password", "bindMode": "transceiver" or "pair", …}
  twilio       {"accountSid", "authToken", "messagingServiceSid"?, "baseUrl"?}

Secrets in --config can be seen by other users of this machine while the command runs, and stay in the shell's history:
put them into a file that only you can read.`;

function withConfig(command: Command): Command {
  return command
    .option("--config <json>", "its settings, as JSON")
    .addOption(new Option("--config-file <path>", "a file with them, or - for what is piped in").conflicts("config"));
}

function addChanges(instances: Command, cli: Cli): void {
  const { create, update } = {
    create: instances.command("create").description("Connect an instance.").argument("<name>", "how you call it"),
    update: instances
      .command("update")
      .description("Change an instance's name or settings: what is named, and the rest stays. It reconnects.")
      .argument("<id>", "instance id (inst_…)"),
  };
  withConfig(create.addOption(new Option("--provider <provider>", "by what").choices(PROVIDERS).makeOptionMandatory()))
    .option("--idempotency-key <key>", "the same key again makes no second instance")
    .addHelpText(
      "after",
      `${examples({
        "tightbeam instances create Mac --provider bluebubbles --config-file mac.json": "",
        "tightbeam instances create Playground --provider sandbox": "needs no settings",
      })}\n\n${CONFIGS}`,
    )
    .action(async (name: string, given: ConfigOptions & { provider: ProviderName; idempotencyKey?: string }) => {
      const { provider, idempotencyKey } = given;
      const config = configOf(given) ?? {};
      const routes = cli.client("admin").admin.instances;
      const keysBefore = cli.storedKeys();
      cli.output().show(await routes.create({ name, provider, config }, { idempotencyKey }), detail);
      tellOfKeys(cli, keysBefore);
    });
  withConfig(update.option("--name <name>", "how you call it from now on"))
    .addHelpText(
      "after",
      `${examples({
        'tightbeam instances update <id> --name "Mac in the office"': "",
        "tightbeam instances update <id> --config-file new-password.json": "a new password, everything else as it was",
      })}\n\n${CONFIGS}`,
    )
    .action(async (id: string, given: ConfigOptions & { name?: string }) => {
      const config = configOf(given);
      const changes = {
        ...(given.name === undefined ? {} : { name: given.name }),
        ...(config === undefined ? {} : { config }),
      };
      if (Object.keys(changes).length === 0) throw new UsageError("name what is to be changed: --name, --config-file.");
      cli.output().show(await cli.client("admin").admin.instances.update(id, changes), detail);
    });
  instances
    .command("delete")
    .description("Disconnect an instance, for good. Refused while numbers belong to it or routes name it.")
    .argument("<id>", "instance id (inst_…)")
    .addHelpText("after", examples({ "tightbeam instances delete <id>": "" }))
    .action(async (id: string) =>
      cli.output().show(await cli.client("admin").admin.instances.delete(id), (deleted) => `${deleted.id} deleted`),
    );
}

/** Says that keys have left `credentials.json`, as they do with the first instance that reaches people. */
function tellOfKeys({ terminal, storedKeys, output }: Cli, before: Record<string, string>): void {
  const kept = storedKeys();
  const gone = Object.entries(before).filter(([name]) => kept[name] === undefined && !terminal.env[name]);
  if (gone.length === 0) return;
  const why = "credentials.json holds no keys any more: this is the first instance that is not a sandbox.";
  const isSeen = terminal.stderr.isTTY === true;
  const lines = gone.map(([name, key]) => `  export ${name}=${isSeen ? key : "tb_…"}`);
  const what = isSeen ? "They are shown this once more. Keep them:" : "Set those that the first start printed:";
  output().note(`${why}\n${what}\n${lines.join("\n")}`);
}

/** The settings that are given. Throws `UsageError` where they are no JSON object, with nothing of what they say. */
function configOf({ config, configFile }: ConfigOptions): Record<string, unknown> | undefined {
  if (config === undefined && configFile === undefined) return undefined;
  const value = config === undefined ? readJson(configFile ?? "-") : parseJson(config, "--config");
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`${config === undefined ? configFile : "--config"} is no JSON object.`);
}

function detail(instance: Instance, paint: Paint): string {
  const { id, name, provider, health, config, warnings, hookUrl, updatedAt } = instance;
  const hook = hookUrl === null ? {} : { hookUrl };
  const facts = listing({ id, name, provider, health, config: JSON.stringify(config), ...hook, updatedAt }, paint);
  return [facts, ...warnings.map((warning) => paint("yellow", `! ${printable(warning)}`))].join("\n");
}
