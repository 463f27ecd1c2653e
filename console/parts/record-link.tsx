/** Links to the pages of records. */

import type { ReactNode } from "react";
import { Link } from "wouter";
import { pathOf, shortenId } from "./addresses.ts";

/** A link to the page of the record that an id names. */
export function RecordLink({ id, path = pathOf(id), children }: { id: string; path?: string; children?: ReactNode }) {
  return (
    <Link href={path} title={id} className="rounded text-accent underline-offset-2 hover:underline">
      {children ?? <span className="font-mono text-xs">{shortenId(id)}</span>}
    </Link>
  );
}
