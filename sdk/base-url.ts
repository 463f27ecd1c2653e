/** Reads the address of a service. */

/** The address without the slashes at its end, in time proportional to their number: `/x+$/` takes its square. */
export function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (end > 0 && url[end - 1] === "/") end -= 1;
  return url.slice(0, end);
}
