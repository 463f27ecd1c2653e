/** Faults of the fake Mac: one for each known misbehaviour of a Mac and its BlueBubbles. */

/** All faults. A fault with a count ends after it has hit that many requests. */
export const FAULTS = {
  /** Accepts connections and reads requests, but sends no response and no event until the fault is lifted. */
  asleep: "lasts",
  /** Refuses new connections and cuts open ones. */
  unreachable: "lasts",
  /** The private API's helper is not in Messages: its commands are refused, everything else works. */
  helperGone: "lasts",
  /** The private API is switched off in BlueBubbles. */
  privateApiOff: "lasts",
  /** Signed out of iMessage: only `icloud/account` shows it, and messages stay unsent. */
  signedOut: "lasts",
  /** Apple removed our address from the account, which is still signed in with other addresses. */
  addressTaken: "lasts",
  /** No iPhone forwards SMS to this Mac. */
  smsNotForwarded: "lasts",
  /** Every health check passes and every send is a 200, but no message leaves the Mac (`is_sent` stays 0). */
  greenButDead: "lasts",
  /** No event is pushed by webhook or socket: the file watcher sleeps. */
  eventsLost: "lasts",
  /** Webhooks get lost; the socket works. */
  webhooksLost: "lasts",
  /** Every webhook and every socket event is sent twice. */
  eventsTwice: "lasts",
  /** Events are held until the fault is lifted, then pushed newest first. */
  eventsReversed: "lasts",
  /** Requests are executed at once, and their responses held until the fault is lifted. */
  answersHeld: "lasts",
  /** The row stays unsent without an error forever; the response is a 200. */
  staysUnsent: "times",
  /** The row has its error at once; the response is a 500 without the guid. */
  errorAtOnce: "times",
  /** The response is a 200; a second later the row has its error, without an event. */
  errorLater: "times",
  /** Like `errorAtOnce`, only for rows with files: the text that began the conversation is sent. */
  fileErrorAtOnce: "times",
  /** Like `errorLater`, only for rows with files. */
  fileErrorLater: "times",
  /** Like `answerLost`, only for rows with files. */
  fileAnswerLost: "times",
  /** Like `hangs`, only for rows with files. */
  fileHangs: "times",
  /** The message is sent, and the connection is cut instead of a response. */
  answerLost: "times",
  /** The message is sent; the response comes a second later. */
  answerLate: "times",
  /** The message is sent; after 120 s the response is 500 `Transaction timeout`. */
  answerTimesOut: "times",
  /** The message is not sent; after 120 s the response is 500 `Transaction timeout`. */
  commandTimesOut: "times",
  /** The message is sent; after 60 s the response is 500 `Message not found in database`. */
  rowNotFound: "times",
  /** The message is sent; there is no response. */
  sentAndHangs: "times",
  /** The message is not sent; there is no response. */
  hangs: "times",
  /** The message is sent; the response is a 504. */
  gatewayTimeout: "times",
  /** The response is `Chat does not exist in IMChatRegistry!` although chat.db has the chat. */
  chatNotInRegistry: "times",
  /** Availability is false for an address that has iMessage. */
  availabilityFalse: "times",
  /** An edit or unsend returns success, but does not change the message. */
  revisionIgnored: "times",
  /** Two sends of the same text: their webhooks carry each other's `tempGuid`. The events of the first send are held for it. */
  tempGuidsSwapped: "times",
  /** Any request gets a 500 `An unhandled error has occurred!` and has no effect. */
  serverError: "times",
} as const;

export type Fault = keyof typeof FAULTS;

/** Active faults, and how many requests they still hit. */
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

  /** Whether a fault is active; counts one hit of a fault with a count. */
  hits(fault: Fault): boolean {
    const left = this.#on.get(fault);
    if (left === undefined) return false;
    if (left <= 1) this.#on.delete(fault);
    else this.#on.set(fault, left - 1);
    return true;
  }
}
