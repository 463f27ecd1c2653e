/** The SQL that removes requests from the log, and replaces their texts. */

export const CHANGE_REQUESTS = {
  /** Reads the oldest requests, and removes those that were logged before a time. */
  removeOld: `delete from requests where position in (select position from
    (select position, logged_at from requests order by position limit ?2 + 0) where logged_at < ?1)`,
  /** Removes the oldest requests of a customer, or of admin keys, whose customer is null. */
  removeOf: `delete from requests where position in
    (select position from requests where customer_id is ?1 order by position limit ?2 + 0)`,
  erase: `update requests set path = ?2, request = ?3, response = ?4, request_cut = 0, response_cut = 0
    where position = ?1`,
};
