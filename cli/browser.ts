/** Opens an address in the browser of the person at this terminal, if there is one. */

import { spawn } from "node:child_process";

/** Programs that open an address, by platform. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [command: string, ...args: string[]]>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
};

/** The reason why no browser can be opened from here; null if one can. */
export function browserAbsence(env: NodeJS.ProcessEnv, platform: NodeJS.Platform = process.platform): string | null {
  if (env.SSH_CONNECTION || env.SSH_TTY) return "This is an SSH session, without your browser";
  const hasDisplay = platform === "darwin" || platform === "win32" || env.DISPLAY || env.WAYLAND_DISPLAY;
  return hasDisplay ? null : "There is no display here";
}

/** Opens the address. Returns the reason if it could not be opened, else null. */
export function openInBrowser(address: string): Promise<string | null> {
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const opener = spawn(command, [...args, address], { stdio: "ignore", detached: true });
    opener.once("error", () => resolve(`${command} cannot be run`));
    opener.once("spawn", () => {
      opener.unref();
      resolve(null);
    });
  });
}
