/** The people of the sandbox: each number decides what its phone does by itself. Pure. */

/** A contact of the sandbox. */
export interface Person {
  number: string;
  /** A name that says the habit. */
  name: string;
  /** The habit in a line: the phone “…”. */
  behaviour: string;
}

/** The phone that does nothing by itself. */
export const YOU = "+15005550199";

const person = (last4: string, name: string, behaviour: string): Person => ({
  number: `+1500555${last4}`,
  name,
  behaviour,
});

/** Everybody, the reader's own phone first. */
export const PEOPLE: readonly Person[] = [
  person("0199", "You", "does nothing by itself: you play it"),
  person("0110", "Echo", "types, then answers “You said: …”"),
  person("0100", "Dana", "receives every message"),
  person("0101", "Ravi", "receives and reads every message"),
  person("0102", "Android", "has no iMessage: gets an SMS"),
  person("0103", "Silent", "iMessage takes it and never delivers it"),
  person("0104", "Refused", "has no iMessage, and SMS refuses it"),
  person("0105", "Nobody", "is reachable on no channel"),
  person("0106", "Flaky", "two temporary faults, then it works"),
  person("0107", "Mute", "takes the message and never responds"),
  person("0108", "Muddled", "receipts come twice and in the wrong order"),
  person("0109", "Slow", "takes five seconds for each step"),
  person("0111", "Love", "reacts with a heart"),
  person("0112", "Payer", "pays every payment request"),
  person("0113", "Miser", "ignores payment requests"),
  person("0114", "Caller", "rings by FaceTime after your message"),
  person("0115", "Missed", "rings, and you miss it"),
  person("0116", "Lossy", "loses three messages in ten"),
];

/** The person with a number; a stranger behaves like `+15005550100`. */
export function personOf(number: string): Person {
  return PEOPLE.find((one) => one.number === number) ?? { number, name: number, behaviour: "receives every message" };
}
