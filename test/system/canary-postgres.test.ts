// Canaries of nodes that share a PostgreSQL database: the counts of all nodes decide, and all nodes switch the canary off.
import { afterAll, expect, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { hasPostgres, sharedPostgres } from "../support/postgres.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider } from "../support/use-gatehouse.ts";
import { waitFor } from "../support/waiting.ts";

const provider = await useFakeProvider();
const nodes: GatehouseProcess[] = [];
afterAll(() => Promise.all(nodes.map((node) => node.stop())));

test.skipIf(!hasPostgres)(
  "a canary with doubled errors is off on all nodes, with one revision",
  async () => {
    const DATABASE_URL = await (await sharedPostgres()).createMigrated();
    const env = { WORKERS: "1", DATABASE_URL };
    const first = await startGatehouseProcess({ env });
    nodes.push(first, await startGatehouseProcess({ env }));
    const { gateway, upstream, path } = await seedRoute(first, {
      upstream: { targets: [targetAt(provider)], health_checks: { passive: false } },
    });
    const counts = { old: 0, new: 0 };
    provider.behave((request) => {
      const { model } = request.json() as { model: "old" | "new" };
      return ++counts[model] % (model === "new" ? 2 : 4) === 0 ? { status: 500 } : {};
    });
    const model = await create(first, `/gateways/${gateway}/models`, {
      name: "assistant",
      targets: [{ upstream, model: "old" }],
      canary: {
        target: { upstream, model: "new" },
        share: 0.5,
        rollback_if: { error_ratio: 2, min_requests: 12 },
      },
    });
    const send = async (index: number, turn: number) => {
      const response = await fetch(nodes[index % 2]!.proxyUrl + path, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-User-ID": `user ${turn}` },
        body: JSON.stringify({ ...CHAT, model: "assistant" }),
      });
      await response.arrayBuffer();
      return response.headers.get("x-gw-canary");
    };
    await waitFor(async () => ((await send(1, 0)) === null ? null : true));
    for (let turn = 0; counts.old < 14 || counts.new < 14; turn++) await send(turn, turn);
    for (const index of nodes.keys())
      await waitFor(async () => ((await send(index, 0)) === null ? true : null));
    const { body } = await first.api("GET", `/revisions?gateway_id=${gateway}&actor=gatehouse`);
    expect(body.revisions).toHaveLength(1);
    const { canary } = (await first.api("GET", `/gateways/${gateway}/models/${model.id}`)).body;
    expect(canary).toMatchObject({ share: 0, rolled_back: { share: 0.5 } });
  },
  60_000,
);
