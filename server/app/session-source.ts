/** The sessions of the service for the pipeline of requests. */

import type { OwnNames } from "../api/pipeline/browser.ts";
import type { SessionSource } from "../api/pipeline/edge.ts";
import type { CustomerId } from "../core/id.ts";
import type { Deps } from "../engine/deps.ts";
import { openSession } from "../engine/sessions/open-session.ts";
import { hasCustomer } from "../store/customers.ts";
import { findSetting } from "../store/settings.ts";
import { FIRST_CUSTOMER } from "./stored-settings.ts";

export function sessionSource(deps: Deps, names: () => OwnNames): SessionSource {
  const { db } = deps.store;
  return {
    names,
    open: (token) => openSession(deps, token),
    async customer(id) {
      if (id === null) return (await findSetting(db, FIRST_CUSTOMER)) as CustomerId | null;
      return (await hasCustomer(db, id as CustomerId)) ? (id as CustomerId) : null;
    },
  };
}
