/** The commands of the help page in groups, each with a line. */

import type { Command } from "commander";

/** Headings, and the commands under each in the order of the page: name and line. */
export const COMMAND_GROUPS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "Service:": {
    serve: "Run the service on this machine",
    open: "Open the console in a browser, signed in",
    doctor: "Find out what does not work, and what to do",
  },
  "Messages and contacts:": {
    send: "Send a message and follow it until it is delivered",
    messages: "List, cancel, retry, edit, unsend and delete messages",
    chats: "Read conversations, make and change groups",
    contacts: "Keep names and tags of the people that you write to",
    "opt-outs": "See who answered STOP, opt contacts out or in",
    payments: "Ask for money with Apple Cash, and see who paid",
    calls: "List FaceTime calls, and how they ended",
    capabilities: "Show which channels reach a number or e-mail address",
    numbers: "List the numbers that you send from",
  },
  "Events and webhooks:": {
    webhooks: "Set where events are sent, test, retry and replay",
    events: "List events, or send one to its receivers again",
    listen: "Forward events, signed, to a receiver on your machine",
    wire: "Follow requests, events and deliveries as they happen",
    requests: "List requests with their responses, count the errors",
  },
  "Sandbox:": {
    sandbox: "Act as a contact, move the clock, reset",
    inbox: "Show the signed webhooks of the built-in inbox",
    trigger: "Make an event happen by the steps that lead to it",
    test: "Run a test that you recorded on the phone page",
  },
  "Administration, with the admin key:": {
    keys: "Create, list, rotate and revoke API keys",
    sessions: "List and end the sessions of browsers",
    customers: "Create customers, and give them numbers",
    routes: "Route SMS to instances by the recipient's prefix",
    "quiet-hours": "Hold messages during the recipients' quiet hours",
    instances: "Connect the accounts and machines that carry messages",
    held: "Release or end messages that a restore holds",
  },
  "Database, on the service's machine:": {
    backup: "Take a backup while the service runs",
    restore: "Restore a backup",
    migrate: "Copy the embedded database into PostgreSQL",
    vacuum: "Write the database file anew, without old remains",
    "change-secret-key": "Seal the stored secrets with another key",
    quarantine: "Show and repair rows that the service cannot read",
  },
  "More:": {
    api: "Call any route of the API",
    usage: "Count requests, messages and webhooks of a period",
    completion: "Print a script that completes commands in your shell",
  },
};

/** The group of commands that the table does not name. */
export const LAST_GROUP = "More:";

/** Puts the commands of a program into their groups, in the order of the groups, each with its line. */
export function groupCommands(program: Command): Command {
  const lines = Object.entries(COMMAND_GROUPS).flatMap(([heading, commands]) =>
    Object.entries(commands).map(([name, line]) => ({ heading, name, line })),
  );
  const names = lines.map(({ name }) => name);
  for (const command of program.commands) {
    const { heading, line } = lines[names.indexOf(command.name())] ?? { heading: LAST_GROUP, line: "" };
    command.helpGroup(heading).summary(line);
  }
  const help = program.createHelp();
  const placeOf = (command: Command) => {
    const place = names.indexOf(command.name());
    return place === -1 ? names.length : place;
  };
  return program.configureHelp({
    ...program.configureHelp(),
    visibleCommands: (shown) =>
      shown === program
        ? help.visibleCommands(shown).toSorted((one, other) => placeOf(one) - placeOf(other))
        : help.visibleCommands(shown),
    groupItems: (_all, visible, groupOf) => help.groupItems(visible, visible, groupOf),
    subcommandTerm: (command) => (command.parent === program ? command.name() : help.subcommandTerm(command)),
  });
}
