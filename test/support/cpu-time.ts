/** Time of this thread alone, for tests of what code costs: whatever else a busy machine runs does not count. */

/** Milliseconds that the processor worked on `work` in this thread. */
export function cpuMsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
