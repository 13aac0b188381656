// How long other clients wait while one client sends texts that are slow to inspect.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { CHAT_PATH } from "./chat-payload.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable } from "./report.ts";
import { runWrk } from "./wrk.ts";

const CONNECTIONS = 8;
const SECONDS = 8;
const MAX_HEALTH_MS = 100;
const MAX_P99_RATIO = 2;
const LANGUAGES = ["javascript", "python", "php", "sql", "shell", "java", "csharp", "ruby", "html"];

export async function benchHostileLoad(providerUrl: string, bodyFile: string): Promise<void> {
  // Worker threads need a core besides that of the event loop.
  const cores = `0-${availableParallelism() - 1}`;
  const gatehouse = await startGatehouse({ dataDir: temporaryFolder(), cores });
  await createRoute(gatehouse, { targets: [targetAt(providerUrl)] });
  const urls: string[] = [];
  for (const action of ["block", "sanitize"]) {
    const languages = LANGUAGES.map((language) => ({ language, enabled: true }));
    const settings = { languages, content_to_check: ["body"], action };
    const plugin = { name: "code_sanitation", stage: "pre_request", settings };
    const gateway = { name: action, required_plugins: [plugin] };
    await createRoute(gatehouse, { gateway, targets: [targetAt(providerUrl)], path: `/${action}` });
    urls.push(`${gatehouse.proxyUrl}/${action}`);
  }
  const load = { url: gatehouse.proxyUrl + CHAT_PATH, bodyFile, connections: CONNECTIONS, seconds: SECONDS };
  await runWrk({ ...load, seconds: 2 });
  const calm = await withHealth(gatehouse.proxyUrl, runWrk(load));
  const client = Bun.spawn([process.execPath, join(import.meta.dir, "hostile-client.ts"), ...urls]);
  const hostile = await withHealth(gatehouse.proxyUrl, runWrk(load));
  client.kill();
  await client.exited;
  await gatehouse.stop();
  const ratio = hostile.result.p99Ms / calm.result.p99Ms;
  printTable(
    `${CONNECTIONS} clients while another one sends texts of 250 kB to 10 MB that are slow to inspect`,
    [
      { what: "longest /healthz before", value: calm.longestMs, unit: "ms" },
      { what: "longest /healthz", value: hostile.longestMs, unit: "ms", note: `at most ${MAX_HEALTH_MS} ms` },
      { what: "p99 before", value: calm.result.p99Ms, unit: "ms" },
      {
        what: "p99",
        value: hostile.result.p99Ms,
        unit: "ms",
        note: `${ratio.toFixed(1)} times, at most ${MAX_P99_RATIO}`,
      },
    ],
  );
}

/** Requests /healthz again and again until the load has ended. */
async function withHealth<T>(origin: string, load: Promise<T>): Promise<{ result: T; longestMs: number }> {
  let longestMs = 0;
  let isDone = false;
  const done = load.finally(() => (isDone = true));
  while (!isDone) {
    const startedAt = performance.now();
    await (await fetch(`${origin}/healthz`)).text();
    longestMs = Math.max(longestMs, performance.now() - startedAt);
    await Bun.sleep(5);
  }
  return { result: await done, longestMs };
}
