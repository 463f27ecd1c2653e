/** A disk whose power a test can cut: an ext4 file system in a file, mounted in a namespace of its own. */

import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { emptyDirectory } from "./cli.ts";
import { type Spawned, spawnCommand } from "./process.ts";
import { until } from "./wait.ts";

const BYTES = 1024 * 1024 * 1024;
const ENV = { PATH: process.env.PATH ?? "" };
/**
 * The ioctl by which ext4 ends all writing at once, as for a disk that lost its power (linux/ext4.h): 2 means that not even
 * the journal is written any more. What no fsync asked for is gone.
 */
const SHUTDOWN = `my $how = pack("L", 2); open(my $d, "<", $ARGV[0]) or die "$!\\n"; ioctl($d, 0x8004587d, $how) or die "$!\\n"`;

/** A mounted disk. */
export interface DiskImage {
  /** The directory at which processes of the namespace see it. */
  directory: string;
  /** The command that a process must run behind to be in the namespace. */
  behind: string[];
  /** Cuts the power: nothing that is written from now on lasts, nor anything written earlier without an fsync. */
  cut(): void;
  /** Mounts the disk again after a cut. No process may use it. */
  remount(): Promise<void>;
}

/** Makes a disk and mounts it. A text says why this machine does not permit that. */
export async function diskImage(t: TestContext): Promise<DiskImage | string> {
  if (process.getuid?.() !== 0) return "mounting a file as a disk takes root";
  const place = emptyDirectory(t);
  const image = join(place, "image");
  const directory = join(place, "mounted");
  writeFileSync(image, "");
  truncateSync(image, BYTES);
  mkdirSync(directory);
  try {
    execFileSync("mkfs.ext4", ["-q", "-F", image], { stdio: "pipe" });
    execFileSync("perl", ["-e", "1"]);
  } catch (error) {
    return `mkfs.ext4 and perl must work: ${(error as Error).message}`;
  }
  let holder = await mount(t, image, directory);
  if (holder === null) return "unshare -m and mount -o loop must work";
  const behind = () => ["nsenter", `--target=${holder?.pid}`, "--mount", "--wd=."];
  const inside = (...command: string[]) => execFileSync("nsenter", [...behind().slice(1), ...command]);
  return {
    directory,
    get behind() {
      return behind();
    },
    cut: () => void inside("perl", "-e", SHUTDOWN, directory),
    async remount() {
      inside("umount", directory);
      await holder?.end("SIGKILL");
      const isFree = () => execFileSync("losetup", ["-j", image], { encoding: "utf8" }) === "";
      await until(isFree, { what: "the end of the mount" });
      holder = await mount(t, image, directory);
      if (holder === null) throw new Error("the disk does not mount again");
    },
  };
}

/** Mounts an image in a namespace that the returned process holds; null if that is not permitted. */
async function mount(t: TestContext, image: string, directory: string): Promise<Spawned | null> {
  const script = 'mount -o loop "$0" "$1" && echo mounted && exec sleep infinity';
  const holder = spawnCommand(t, ["unshare", "-m", "sh", "-c", script, image, directory], ENV);
  holder.exited.catch(() => {});
  if (holder.pid === 0) return null;
  const mounted = until(() => holder.output.stdout.includes("mounted"));
  const ended = once(holder.child, "close").then(() => false);
  return (await Promise.race([mounted, ended])) ? holder : null;
}
