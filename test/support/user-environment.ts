/** The environment of a user, for tests that run commands as a user types them. */

/** Variables of npm, git, Node's test runner and the service. Certificates of a network's own authority stay: npm needs them. */
const OF_THE_TEST = /^(npm_|NODE_(?!EXTRA_CA_CERTS$)|GIT_|TB_|TIGHTBEAM_|INIT_CWD$|PORT$)/i;

/** The environment of this process without the variables that a test or npm set, and with `more`. */
export function userEnvironment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const own = Object.entries(process.env).filter(([name]) => !OF_THE_TEST.test(name));
  return { ...(Object.fromEntries(own) as Record<string, string>), ...more };
}
