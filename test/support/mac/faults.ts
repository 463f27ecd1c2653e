/** The switches of the fake Mac: one for each way in which a Mac and its BlueBubbles are known to misbehave. */

/** Every fault there is. Those that end by themselves hit the next so many requests that they concern. */
export const FAULTS = {
  /** Takes connections, reads requests, and answers nothing until it is lifted; tells nothing either. */
  asleep: "lasts",
  /** Refuses connections, and cuts those there are. */
  unreachable: "lasts",
  /** The private API's helper is not in Messages: every command of it is refused, the rest works. */
  helperGone: "lasts",
  /** The private API is switched off in BlueBubbles. */
  privateApiOff: "lasts",
  /** Signed out of iMessage: everything is green but `icloud/account`, and what is sent stays unsent. */
  signedOut: "lasts",
  /** Apple removed our address from the account, which is signed in with others. */
  addressTaken: "lasts",
  /** No iPhone forwards SMS to this Mac. */
  smsNotForwarded: "lasts",
  /** Every light is green, every send a 200, and nothing leaves the Mac (`is_sent` stays 0). */
  greenButDead: "lasts",
  /** Nothing is pushed, neither by webhook nor by socket: the file watcher sleeps. */
  eventsLost: "lasts",
  /** Webhooks get lost; the socket works. */
  webhooksLost: "lasts",
  /** Every webhook and every socket event comes twice. */
  eventsTwice: "lasts",
  /** Events are kept back and told, the last first, when it is lifted. */
  eventsReversed: "lasts",
  /** Requests are executed at once, and their responses kept back until the fault is lifted. */
  answersHeld: "lasts",
  /** Messages has the row unsent and without an error for good; the answer is a 200. */
  staysUnsent: "times",
  /** The row has its error at first sight: a 500 without the guid. */
  errorAtOnce: "times",
  /** A 200, and a second later the row has its error; nothing tells of it. */
  errorLater: "times",
  /** As `errorAtOnce`, of rows with files alone: the text that began the conversation is sent. */
  fileErrorAtOnce: "times",
  /** As `errorLater`, of rows with files alone. */
  fileErrorLater: "times",
  /** As `answerLost`, of rows with files alone. */
  fileAnswerLost: "times",
  /** As `hangs`, of rows with files alone. */
  fileHangs: "times",
  /** Sent, and the connection is cut instead of an answer. */
  answerLost: "times",
  /** Sent, and answered a second later. */
  answerLate: "times",
  /** Sent, and answered after 120 s with 500 `Transaction timeout`. */
  answerTimesOut: "times",
  /** Not sent, and answered after 120 s with 500 `Transaction timeout`. */
  commandTimesOut: "times",
  /** Sent, and answered after 60 s with 500 `Message not found in database`. */
  rowNotFound: "times",
  /** Sent, and never answered. */
  sentAndHangs: "times",
  /** Not sent, and never answered. */
  hangs: "times",
  /** Sent, and answered with 504. */
  gatewayTimeout: "times",
  /** `Chat does not exist in IMChatRegistry!` of a chat that chat.db has. */
  chatNotInRegistry: "times",
  /** An address that is on iMessage is said not to be. */
  availabilityFalse: "times",
  /** An edit or unsend is answered as done, and the message stays as it is. */
  revisionIgnored: "times",
  /** Two sends of the same text: their webhooks carry each other's `tempGuid`. Keeps the events of the first for it. */
  tempGuidsSwapped: "times",
  /** The request, whatever it is, is a 500 `An unhandled error has occurred!`, and nothing is done. */
  serverError: "times",
} as const;

export type Fault = keyof typeof FAULTS;

/** Which faults are on, and how often they still hit. */
export class Faults {
  readonly #on = new Map<Fault, number>();

  set(fault: Fault, times: number): void {
    this.#on.set(fault, times);
  }

  lift(fault: Fault): void {
    this.#on.delete(fault);
  }

  has(fault: Fault): boolean {
    return this.#on.has(fault);
  }

  /** Whether it is on; one that ends by itself has then hit once more. */
  hits(fault: Fault): boolean {
    const left = this.#on.get(fault);
    if (left === undefined) return false;
    if (left <= 1) this.#on.delete(fault);
    else this.#on.set(fault, left - 1);
    return true;
  }
}
