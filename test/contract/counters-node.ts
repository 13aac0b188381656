// A process of its own with counters on the Redis of argv[2]: says "ready", waits for a line, then admits argv[4] requests
// at once against 100 a minute of key argv[3]; prints how many passed. argv[5]: JSON with its clock's error and its patience.
import { RedisCounters } from "../../src/counters/redis.ts";

const [, , url = "", key = "", count = "0", setting = "{}"] = process.argv;
const { skewMs = 0, ...options } = JSON.parse(setting) as { skewMs?: number; silentMs?: number };
const [wall, monotonic] = [Date.now.bind(Date), performance.now.bind(performance)];
const counters = new RedisCounters(url, options);
while (counters.state.state !== "ok") await Bun.sleep(5);
process.stdout.write("ready\n");
await Bun.stdin.stream().getReader().read();
Date.now = () => wall() + skewMs;
performance.now = () => monotonic() + skewMs;
const limits = [{ key, limit: 100, windowMs: 60_000 }];
const decisions = await Promise.all(
  Array.from({ length: Number(count) }, async () => counters.admit(limits, "local")),
);
const passed = decisions.filter(({ admitted }) => admitted).length;
process.stdout.write(`${JSON.stringify({ passed, resetAt: decisions[0]?.states[0]?.resetAt })}\n`);
await counters.close();
process.exit(0);
