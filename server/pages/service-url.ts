/** The address that stands for the service in the pages that a build makes. Pure. */

/** The service puts its own address in its place when it serves a page. No host has a name in `.invalid` (RFC 2606). */
export const SERVICE_URL = "http://service.invalid";
