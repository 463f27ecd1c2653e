/** API keys and sessions of the console, for an admin's session. */

import type { CreateKey } from "../../sdk/wire.ts";
import { useRecordChange } from "./records.ts";

/** Creates a key. Only its result holds the key itself. */
export function useCreateKey() {
  return useRecordChange("keys", (api, key: CreateKey) => api.admin.keys.create(key));
}

/** Replaces a key by a new one; the old one works until the grace period ends. */
export function useRotateKey() {
  return useRecordChange("keys", (api, { id, gracePeriodSeconds }: { id: string; gracePeriodSeconds: number }) =>
    api.admin.keys.rotate(id, { gracePeriodSeconds }),
  );
}

/** Revokes a key. */
export function useRevokeKey() {
  return useRecordChange("keys", (api, id: string) => api.admin.keys.revoke(id));
}

/** Ends a session of the console. */
export function useEndSession() {
  return useRecordChange("sessions", (api, id: string) =>
    api.request("DELETE", `/v1/admin/sessions/${encodeURIComponent(id)}`),
  );
}
