/** The SQL of the function `phone_key`, which a migration makes. A new row of the table of forms needs a migration that makes it anew. */

import { FORM_ROWS } from "../../core/phone-forms.ts";

/** SQL for `phoneKey` of an address that may have two forms. An address is in one row at most. */
export const PHONE_KEY = FORM_ROWS.filter(({ isOneSubscriber }) => isOneSubscriber).reduce(
  (address, { head, former, present, rest }) =>
    `regexp_replace(${address}, '^(${head})${former}(${rest})$', '\\1${present}\\2')`,
  "address",
);
