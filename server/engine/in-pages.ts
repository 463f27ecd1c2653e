/** Work in pages that a request begins: some pages before its response, the others after it. */

/** How far the response waits for the work. */
export interface PagesInline {
  /** Pages before the response: very many would take longer than a caller waits. */
  pagesMax: number;
  /** Aborted when the client has gone: the response waits for no further page. */
  gone: AbortSignal;
  /** Gets what a page throws. The work ends with it. */
  fault(error: unknown): void;
}

/**
 * Runs `page` until it resolves to true: nothing is left. Resolves after the pages that the response waits for; the others follow by
 * themselves, since the request has decided about all of them. Never throws.
 */
export async function inPages(page: () => Promise<boolean>, { pagesMax, gone, fault }: PagesInline): Promise<void> {
  const some = async (goesOn: (run: number) => boolean): Promise<boolean> => {
    try {
      for (let run = 0; goesOn(run); run += 1) if (await page()) return true;
      return false;
    } catch (error) {
      fault(error);
      return true;
    }
  };
  if (await some((run) => run < pagesMax && !gone.aborted)) return;
  void some(() => true);
}
