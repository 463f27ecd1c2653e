/** Sentences that several descriptions have in common. */

/** The written forms of a phone, in the words of every parameter that names a person by one. */
export const EITHER_FORM =
  "A phone in either of its two written forms (Mexico, Argentina, Brazil, Benin, Ivory Coast) is one person.";
