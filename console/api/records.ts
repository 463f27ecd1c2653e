/** Changes of records by any call. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { Tightbeam } from "../../sdk/client.ts";
import { useApi } from "./context.ts";
import type { Noun } from "./queries.ts";

/** Changes records by any call, and reads the noun again. */
export function useRecordChange<Variables, Result>(
  noun: Noun,
  change: (api: Tightbeam, variables: Variables) => Promise<Result>,
) {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: (variables: Variables) => change(api, variables),
    onSuccess: () => cache.invalidateQueries({ queryKey: [noun] }),
  });
}
