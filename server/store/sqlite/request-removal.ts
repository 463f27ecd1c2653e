/** The SQL that removes requests from the log. */

import { OPERATOR_ROUTES } from "../../core/logged-request.ts";

export const DELETE_REQUESTS = {
  /** Those of the oldest requests that were logged before a time. */
  old: `delete from requests where position in (select position from
    (select position, logged_at from requests order by position limit ?2 + 0) where logged_at < ?1)`,
  /** The oldest requests of a customer, or of admin keys, whose customer is null. */
  ofCustomer: `delete from requests where position in
    (select position from requests where customer_id is ?1 order by position limit ?2 + 0)`,
  /** The oldest requests of admin keys that may name a person. The first parameter is the customer, null. */
  namingPeople: `delete from requests where position in (select position from requests where customer_id is ?1
    and not (coalesce(route, '') like '${OPERATOR_ROUTES.like}' and route not like '${OPERATOR_ROUTES.except}')
    order by position limit ?2 + 0)`,
};
