/** `tightbeam sessions`: the rows of its commands. */

import { type CommandRow, list, request } from "./command.ts";

/** Commands about browsers that are signed in to the console. */
export const sessions: CommandRow = {
  name: "sessions",
  key: "admin",
  help: "List and end the sessions of browsers in the console. Needs the admin key.",
  examples: {
    "tightbeam sessions list": "which keys are signed in, and since when",
    "tightbeam sessions end <id>": "sign one browser out",
    "tightbeam keys revoke <id>": "sign out every browser with this key",
  },
  commands: [
    list({
      name: "list",
      help: "List the sessions that have not ended, the newest first.",
      examples: { "tightbeam sessions list | jq -r '.[].id'": "just the ids" },
      paging: { "--all": "every page, not only the first" },
      pages: (client) => client.admin.sessions,
      items: (page) => page.sessions,
      columns: [
        { title: "ID", value: (session) => session.id },
        { title: "KEY", value: (session) => session.keyId },
        { title: "SIGNED IN", value: (session) => session.createdAt },
        { title: "LAST USED", value: (session) => session.lastUsedAt },
        { title: "ENDS", value: (session) => session.expiresAt },
      ],
      empty: "Nobody is signed in.",
      more: () => null,
    }),
    request({
      name: "end",
      help: "End a session: its browser is signed out at once.",
      arguments: { "<id>": "session id (ses_…)" },
      examples: { "tightbeam sessions end <id>": "its open streams end too" },
      call: (client, id: string) => client.admin.sessions.end(id),
      show: ({ id }) => `${id} ended`,
    }),
  ],
};
