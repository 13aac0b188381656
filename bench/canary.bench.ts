// How long a bad canary is used: three nodes that share a database, a canary that fails 2.5 times as often as the other target, and
// the time from the moment when both have had `min_requests` to the last request that any node sends to the canary.
import { join } from "node:path";
import { CHAT_PATH } from "./chat-payload.ts";
import { createRoute, startGatehouse, targetAt, temporaryFolder } from "./gatehouse.ts";
import { printTable } from "./report.ts";

const ROUNDS = 8;
const MIN_REQUESTS = 50;
const PER_SECOND = 150;
/** No request to the canary for so long means that it is off. */
const QUIET_MS = 2500;
const LIMIT_MS = 20_000;

interface Counted {
  requests: number;
  lastAt: number;
}

class FailingProvider {
  readonly old: Counted = { requests: 0, lastAt: 0 };
  readonly new: Counted = { requests: 0, lastAt: 0 };
  /** When both models have had `MIN_REQUESTS`. */
  decidableAt: number | null = null;
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      const { model } = (await request.json()) as { model: string };
      return model === "old" || model === "new" ? this.#respond(model) : new Response(null, { status: 404 });
    },
  });

  get origin(): string {
    return this.#server.url.origin;
  }

  #respond(model: "old" | "new"): Response {
    const counted = this[model];
    counted.requests++;
    counted.lastAt = performance.now();
    if (Math.min(this.old.requests, this.new.requests) >= MIN_REQUESTS) this.decidableAt ??= counted.lastAt;
    const fails = counted.requests % (model === "new" ? 4 : 10) === 0;
    return Response.json(fails ? { error: { message: "broken" } } : { choices: [] }, {
      status: fails ? 400 : 200,
    });
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }
}

export async function benchCanary(): Promise<void> {
  const folder = temporaryFolder();
  const env = { WORKERS: "1", DATABASE_URL: `sqlite://${join(folder, "shared.db")}` };
  const first = await startGatehouse({ dataDir: folder, env });
  const others = [temporaryFolder(), temporaryFolder()];
  const nodes = [first, ...(await Promise.all(others.map((dataDir) => startGatehouse({ dataDir, env }))))];
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const provider = new FailingProvider();
    const path = `/round-${round}${CHAT_PATH}`;
    const targets = [targetAt(provider.origin)];
    const health_checks = { passive: false };
    const gateway = { name: `round ${round}` };
    const route = await createRoute(first, { gateway, targets, path, upstream: { health_checks } });
    await first.create(`/gateways/${route.gateway}/models`, {
      name: "assistant",
      targets: [{ upstream: route.upstream, model: "old" }],
      canary: {
        target: { upstream: route.upstream, model: "new" },
        share: 0.5,
        rollback_if: { error_ratio: 2, min_requests: MIN_REQUESTS },
      },
    });
    const urls = nodes.map(({ proxyUrl }) => proxyUrl + path);
    await Promise.all(urls.map(untilServed));
    times.push(await loadUntilOff(urls, provider));
    await provider.stop();
  }
  for (const node of nodes) await node.stop();
  times.sort((a, b) => a - b);
  printTable(`Canaries: ${ROUNDS} canaries of three nodes, ${PER_SECOND} requests per second`, [
    { what: "last request to the canary after min_requests, median", value: times[ROUNDS / 2]!, unit: "ms" },
    { what: "last request to the canary after min_requests, latest", value: times.at(-1)!, unit: "ms" },
  ]);
}

/** Sends requests of different users to all nodes at a constant rate. Returns the milliseconds from `decidableAt` to the last use of the canary. */
async function loadUntilOff(urls: readonly string[], provider: FailingProvider): Promise<number> {
  const startedAt = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let turn = 0; ; turn++) {
    const now = performance.now();
    if (now - startedAt > LIMIT_MS) throw new Error(`the canary is still used after ${LIMIT_MS} ms`);
    if (provider.decidableAt !== null && now - provider.new.lastAt > QUIET_MS) break;
    sent.push(ask(urls[turn % urls.length]!, `user ${turn}`));
    await Bun.sleep(Math.max(0, startedAt + ((turn + 1) * 1000) / PER_SECOND - performance.now()));
  }
  await Promise.all(sent);
  return provider.new.lastAt - provider.decidableAt;
}

/** Waits until a node has the virtual model: before that, it has no rule or takes the name for one of the provider. */
async function untilServed(url: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    if ((await ask(url, "first user")).get("x-gw-virtual-model") !== null) return;
    await Bun.sleep(25);
  }
  throw new Error(`${url} does not serve the virtual model`);
}

async function ask(url: string, user: string): Promise<Headers> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-User-ID": user },
    body: JSON.stringify({ model: "assistant", messages: [{ role: "user", content: "hello" }] }),
  });
  await response.arrayBuffer();
  return response.headers;
}
