/** The person with a number, by the name that your contacts have for it. */

import { useNameOf } from "../../parts/contact-name.tsx";
import { type Person, personOf } from "./people.ts";

/** The person; without a contact the person of the sandbox. */
export function usePerson(number: string): Person {
  const person = personOf(number);
  return { ...person, name: useNameOf(number, person.name) };
}
