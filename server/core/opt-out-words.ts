/**
 * The words and short sentences that end messages everywhere, each with its source, and those that ask for help. Nobody can remove
 * one of them. Pure.
 *
 * A row is a text in capitals without accents. `(A|B)` stands for one of its words, `(|A)` for the word or nothing.
 */

/** Rows of one source. */
export interface WordRows {
  source: string;
  rows: readonly string[];
}

/** Words that count when nothing stands beside them. */
export const STOP_WORDS: readonly WordRows[] = [
  {
    source: "47 CFR 64.1200(a)(10): words that a reply to a text may always use",
    rows: ["STOP", "QUIT", "END", "REVOKE", "OPTOUT", "CANCEL", "UNSUBSCRIBE"],
  },
  { source: "carriers, by the default words of Twilio and Telnyx", rows: ["STOPALL"] },
  { source: "carriers, by the required words of AWS End User Messaging", rows: ["REMOVE", "TD"] },
  { source: "carriers of Canada, by Twilio's words for its short codes", rows: ["UNSUB"] },
  { source: "carriers of Canada (CWTA Common Short Code guidelines): required in every program", rows: ["ARRET"] },
  {
    source:
      "French for STOP, END, CANCEL, QUIT and UNSUBSCRIBE: the same guidelines ask for each word in both languages",
    rows: ["ARRETER", "ARRETEZ", "FIN", "ANNULER", "QUITTER", "DESABONNER", "DESABONNEMENT"],
  },
  {
    source: "misspelled, which Sinch asks senders in the United States and Canada to accept",
    rows: ["STOPP", "UNSUBCRIBE", "UNSUSCRIBE"],
  },
];

const TEXTS = "(TEXT|TEXTS|MESSAGES|TEXT MESSAGES|SMS)";

/** Short sentences that say the same. They count with `ENDINGS` too. */
export const STOP_SENTENCES: readonly WordRows[] = [
  {
    source: "47 CFR 64.1200(a)(10): any reasonable way of saying it; the polite forms of its words",
    rows: ["STOP", "STOP ALL", "(|I) OPT OUT", "OPT ME OUT", "UNSUBSCRIBE", "(|I) REVOKE (|MY) CONSENT", "STOP NOW"],
  },
  {
    source: "replies that Postscript and iVIP Mobile take for opt-outs",
    rows: [
      "(STOP|QUIT) (TEXTING|MESSAGING|CONTACTING) (|ME|US|THIS NUMBER)",
      `STOP SENDING (|ME) (|THE|THESE|ALL|ANY|YOUR) ${TEXTS}`,
      `STOP (|THE|THESE|ALL|YOUR) ${TEXTS} (|TO ME)`,
      "(DO NOT|DONT) (TEXT|MESSAGE|CONTACT) (|ME|US|THIS NUMBER) (|AGAIN|ANYMORE|ANY MORE)",
      "REMOVE (ME|THIS NUMBER|MY NUMBER|MY PHONE NUMBER) (|FROM (YOUR|THE|THIS) (LIST|TEXT LIST))",
      "DELETE (ME|THIS NUMBER|MY NUMBER) FROM (YOUR|THE|THIS) (LIST|TEXT LIST)",
      "UNSUBSCRIBE (ME|THIS NUMBER) (|FROM (YOUR|THE|THIS) LIST)",
      "TAKE (ME|THIS NUMBER|MY NUMBER) OFF (|(YOUR|THE|THIS) LIST)",
      "LEAVE ME ALONE",
    ],
  },
  {
    source: "replies that Text-Em-All takes for opt-outs",
    rows: [
      `I (DO NOT|DONT) WANT (|THESE|YOUR|ANY|ANY MORE) ${TEXTS} (|ANYMORE|ANY MORE)`,
      "I (WANT|WISH|WOULD LIKE) TO (UNSUBSCRIBE|OPT OUT|STOP)",
      `NO MORE ${TEXTS}`,
    ],
  },
  {
    source: "French for the same, as carriers of Canada ask",
    rows: [
      "ARRET",
      "ARRETER",
      "ARRETEZ",
      "(DESABONNEZ|DESINSCRIVEZ) MOI",
      "ME (DESABONNER|DESINSCRIRE)",
      "ARRETEZ DE (ME TEXTER|M ECRIRE|M ENVOYER DES (TEXTOS|MESSAGES|SMS))",
      "NE (ME TEXTEZ|M ECRIVEZ) PLUS",
      "PLUS DE (TEXTOS|MESSAGES|SMS)",
    ],
  },
];

/** Words before a sentence that change nothing about it. */
export const OPENINGS = ["", "PLEASE", "PLS", "SVP"] as const;
/** Words after a sentence that change nothing about it. */
export const ENDINGS = ["", "PLEASE", "PLS", "THANKS", "THANK YOU", "SVP", "MERCI"] as const;

/** Words that ask for help: required in the United States (CTIA) and in Canada (CWTA), in both languages. */
export const HELP_WORDS = ["HELP", "INFO", "AIDE"] as const;

/** Words that end an opt-out, unless a customer chose others: Twilio's and Telnyx's. `YES` is none: it answers too many questions. */
export const RESUME_WORDS = ["START", "UNSTOP"] as const;

/** All texts of a row. */
export function textsOf(row: string): string[] {
  const choice = /\(([^()]*)\)/.exec(row);
  if (choice === null) return [row.split(" ").filter(Boolean).join(" ")];
  const [whole, words = ""] = choice;
  const before = row.slice(0, choice.index);
  const after = row.slice(choice.index + whole.length);
  return words.split("|").flatMap((word) => textsOf(`${before}${word}${after}`));
}
