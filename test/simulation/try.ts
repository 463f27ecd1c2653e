import { judge } from "./oracle.ts";
import { hashOf, simulate } from "./world.ts";

const [from, count] = [Number(process.argv[2] ?? 1), Number(process.argv[3] ?? 1)];
for (let n = from; n < from + count; n += 1) {
  const t = performance.now();
  try {
    const run = await simulate(String(n));
    const v = judge(run);
    if (v.length > 0 || count === 1)
      console.log(
        n,
        run.kind,
        Math.round(performance.now() - t) + "ms",
        "lives",
        run.lives,
        "wishes",
        run.wishes.length,
        "sendings",
        run.sendings.length,
        "ho",
        run.carrier.handOvers.length,
        hashOf(run).slice(0, 8),
      );
    for (const { rule, what } of v.slice(0, 3)) console.log("   ", rule, "::", what.slice(0, 1500));
  } catch (e) {
    console.log(n, "CRASH", e);
  }
}
