/** The SQL that removes requests from the log. */

export const DELETE_REQUESTS = {
  /** Those of the oldest requests that were logged before a time. */
  old: `delete from requests where position in (select position from
    (select position, logged_at from requests order by position limit ?2 + 0) where logged_at < ?1)`,
  /** The oldest requests of a customer, or of admin keys, whose customer is null. */
  ofCustomer: `delete from requests where position in
    (select position from requests where customer_id is ?1 order by position limit ?2 + 0)`,
};
