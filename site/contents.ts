/** The pages of the documentation that are files of the repository, in the order of the side bar. Pure. */

/** A page that is a Markdown file. */
export interface DocsFile {
  /** Its address below `/docs/`. */
  path: string;
  /** Its title in the side bar. */
  title: string;
  /** Its content in a few words, for the entry page. */
  summary: string;
  /** The file, from the root of the repository or package. */
  file: string;
}

/** Pages that belong together. */
export interface DocsChapter {
  title: string;
  pages: readonly DocsFile[];
}

function page(path: string, title: string, summary: string, file = `docs/${path}.md`): DocsFile {
  return { path, title, summary, file };
}

/** The chapters before the reference. */
export const CHAPTERS: readonly DocsChapter[] = [
  {
    title: "Guides",
    pages: [
      page("guides", "Before you begin", "the order of the guides, and two shorthands", "docs/guides/README.md"),
      page("guides/sending", "Send messages", "now, later, with fallback; edit, unsend, retry"),
      page("guides/receiving", "Receive and verify", "replies, endpoints, signatures, missing webhooks"),
      page("guides/groups", "Groups", "create a group, write to it, typing"),
      page("guides/attachments", "Attachments", "send files and images, download received files"),
      page("guides/payments", "Payments", "request a payment and learn that it was paid"),
      page("guides/testing", "Test everything", "phones, the clock, receivers that fail, reset"),
      page("guides/agent", "An agent", "receive, read the conversation, answer once"),
      page("guides/moving", "Move here", "fields and events of Sendblue, Linq and Twilio side by side"),
    ],
  },
  {
    title: "How it behaves",
    pages: [
      page("sandbox", "The sandbox", "phones without a Mac, a carrier or an account"),
      page("lifecycle", "Life of a message", "statuses, transitions, fallback, unknown outcomes"),
      page("events", "Events", "types, deliveries, signatures, order"),
      page("errors", "Errors", "every code, and what to do about it"),
      page("guarantees", "Guarantees", "what holds after a crash, and the test that shows it"),
      page("attachments", "Files", "how files are fetched, stored and sent"),
      page("opt-outs", "Opt-outs", "which words count, what they hold for, what is answered"),
      page("payments", "Payment requests", "which payments count, and as what proof"),
    ],
  },
  {
    title: "Tools",
    pages: [
      page("console", "The console", "each screen, keys, searches, short addresses"),
      page("cli", "Command line", "every command of tightbeam"),
      page("sdk", "TypeScript client", "types, retries, webhooks, live events", "sdk/README.md"),
    ],
  },
  {
    title: "Channels",
    pages: [
      page("providers", "Connect a channel", "the steps for each, and routing", "docs/providers/README.md"),
      page("providers/bluebubbles", "iMessage", "a Mac with BlueBubbles"),
      page("providers/smpp", "SMS by SMPP", "a connection to a carrier"),
      page("providers/twilio", "SMS by Twilio", "an account with Twilio"),
    ],
  },
  {
    title: "Running it",
    pages: [
      page("configuration", "Configuration", "every setting with its default"),
      page("operating", "Operating", "start, upgrade, back up, watch, mend"),
      page("security", "Security", "keys, sessions, limits, what is stored"),
      page("performance", "Performance", "what a message costs, and how it is measured"),
      page("scale", "Scale", "how many messages one machine carries"),
      page("versioning", "Versions", "what may change within /v1, and how long before it goes away"),
      page("glossary", "Glossary", "the words of the documents and the API"),
    ],
  },
];
