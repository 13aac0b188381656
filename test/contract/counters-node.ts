// A separate process with counters in the Redis of argv[2]: prints "ready", waits for a line, then sends argv[4] requests
// at once to a limit of 100 per minute with key argv[3], and prints how many were admitted. argv[5] is JSON with the error
// of its clock and the silence timeout.
import { systemClock } from "../../src/base/clock.ts";
import { redisCounters } from "../support/ledger-counters.ts";
import { waitUntil } from "../support/waiting.ts";

const [, , url = "", key = "", count = "0", setting = "{}"] = process.argv;
const { skewMs = 0, ...options } = JSON.parse(setting) as { skewMs?: number; silenceTimeoutMs?: number };
let clockErrorMs = 0;
const clock = {
  ...systemClock,
  now: () => systemClock.now() + clockErrorMs,
  unixNow: () => systemClock.unixNow() + clockErrorMs,
};
const counters = redisCounters(url, { ...options, clock });
await waitUntil(() => counters.state.state === "ok");
process.stdout.write("ready\n");
await Bun.stdin.stream().getReader().read();
clockErrorMs = skewMs;
const limits = [{ key, limit: 100, windowMs: 60_000 }];
const decisions = await Promise.all(
  Array.from({ length: Number(count) }, async () => counters.admit(limits, "local")),
);
const admittedCount = decisions.filter(({ admitted }) => admitted).length;
process.stdout.write(
  `${JSON.stringify({ admitted: admittedCount, resetAt: decisions[0]?.states[0]?.resetAt })}\n`,
);
await counters.close();
process.exit(0);
