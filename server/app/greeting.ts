/** The greeting at a terminal: the address, the console, the keys, and the first commands. Pure. */

/** A phone of the sandbox that does nothing by itself. */
const CONTACT = "+15005550199";

/** The first commands, as the README has them: a message, the contact's answer, and the webhooks of both. */
const FIRST_COMMANDS = [`send ${CONTACT} "Are you there?"`, `sandbox phone ${CONTACT} say "Yes, I am"`, "inbox"];

/** A start, as the greeting tells it. */
export interface Started {
  url: string;
  /** The data directory of the service, as its setting names it. */
  dataDir: string;
  /** How a command is run: `npx tightbeam`. */
  command: string;
  /** Environment that a command needs to find the keys, such as `TB_DATA_DIR=…`; null if it finds them. */
  environment: string | null;
  /** A one-time link to the console; null without a console. */
  link: string | null;
  /** How the link is opened, or why it is not; null if nobody is there to do so. */
  offer: string | null;
  /** The keys that this start generated. */
  generated: { apiKey?: string | undefined; adminKey?: string | undefined };
}

/** The greeting. Only the start that generated the keys shows them. */
export function greetingOf(started: Started): string {
  const { url, dataDir, generated } = started;
  const lines = ["", `  Tightbeam is ready on ${url}`, "", ...describeLink(started)];
  const { apiKey, adminKey } = generated;
  if (apiKey !== undefined) lines.push(`  API key    ${apiKey}`);
  if (adminKey !== undefined) lines.push(`  Admin key  ${adminKey}`);
  if (apiKey === undefined)
    lines.push(`  Keys: those of the first start (${dataDir}/credentials.json), or TB_API_KEY.`, "");
  else
    lines.push(
      `  Shown this once, and kept in ${dataDir}/credentials.json.`,
      "",
      "  In a second terminal, in the same directory, send a message, answer it as the",
      "  contact, and look at the webhooks:",
      "",
      ...FIRST_COMMANDS.map((line) => `  ${commandLine(started, line)}`),
      "",
      "  The first of them as a request of the API:",
      "",
      ...curl(url, apiKey),
      "",
    );
  return `${lines.join("\n")}\n`;
}

/** The request of the first command. */
function curl(url: string, apiKey: string): string[] {
  const body = JSON.stringify({ to: CONTACT, content: { text: "Are you there?" } });
  return [
    `  curl -s ${url}/v1/messages \\`,
    `    -H 'Authorization: Bearer ${apiKey}' \\`,
    "    -H 'Content-Type: application/json' \\",
    `    -d '${body}'`,
  ];
}

/** The link on a line of its own, which fits a terminal of 80 columns, and how to open it. */
function describeLink(started: Started): string[] {
  const { link, offer } = started;
  if (link === null) return [];
  const terms = [
    "  The link works once, within five minutes. Another one, from a second terminal:",
    `  ${commandLine(started, "open")}`,
  ];
  return ["  The console:", `  ${link}`, ...(offer === null ? [] : [`  ${offer}`]), ...terms, ""];
}

function commandLine({ command, environment }: Started, line: string): string {
  return [environment, command, line].filter((part) => part !== null).join(" ");
}
