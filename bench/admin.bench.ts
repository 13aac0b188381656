// `npm run bench admin`: latency and throughput of the Admin API over HTTP: reads and durable writes, and how writes,
// deletions, and the start scale with the number of gateways and API keys.
import { startGatehouseProcess, type GatehouseProcess } from "../test/support/gatehouse-process.ts";
import { temporaryFolder, type Route } from "./gatehouse.ts";
import { median, printTable, quantile, timeEach, type Measurement } from "./report.ts";
import { seedApiKeys, seedGateways } from "./seed-records.ts";

const SIZES = [10, 100, 1000];
const RULES = 10;
const ROUNDS = 400;
const PARALLEL = 16;
/** For the comparison of a small and a large configuration, which are seeded in the store. */
const FEW = 100;
const MANY = 30_000;
const KEYS = 100_000;

export async function benchAdmin(): Promise<void> {
  const gatehouse = await startGatehouseProcess();
  try {
    const costs: Measurement[] = [];
    const gateways: string[] = [];
    for (const size of SIZES) {
      await seedUpTo(gatehouse, gateways, size);
      costs.push(await writeCost(gatehouse, gateways, size));
    }
    const [smallest, largest] = [costs[0]?.value ?? 0, costs.at(-1)?.value ?? 0];
    const growth: Measurement = {
      what: `${SIZES.at(-1)} gateways to ${SIZES[0]}`,
      value: largest / smallest,
      unit: "×",
      atMost: 2,
    };
    printTable(
      "Admin reads at 1,000 gateways of 10 rules, over HTTP",
      await readLatency(gatehouse, gateways),
    );
    printTable("One durable write (PATCH of a rule), over HTTP, p50", [...costs, growth]);
    printTable("Durable writes on SQLite, over HTTP", await writeRate(gatehouse));
  } finally {
    await gatehouse.stop();
  }
  await benchLargeConfiguration();
}

async function benchLargeConfiguration(): Promise<void> {
  const few = await seededNode(FEW);
  const many = await seededNode(MANY, KEYS);
  try {
    printTable(
      `${MANY.toLocaleString("en")} gateways on one path and ${KEYS.toLocaleString("en")} API keys, over HTTP`,
      [
        await writeGrowth(few, many),
        {
          what: `start, in addition to ${FEW} gateways`,
          value: (many.readyMs - few.readyMs) / 1000,
          unit: "s",
          note: "includes the API keys",
        },
        await deletionLatency(many),
      ],
    );
  } finally {
    await few.gatehouse.stop();
    await many.gatehouse.stop();
  }
}

interface SeededNode {
  readonly gatehouse: GatehouseProcess;
  readonly routes: readonly Route[];
  readonly readyMs: number;
}

/** All API keys belong to the first gateway. */
async function seededNode(gateways: number, keys = 0): Promise<SeededNode> {
  const dataDir = temporaryFolder();
  const routes = await seedGateways(dataDir, gateways);
  const [first] = routes;
  if (first !== undefined) await seedApiKeys(dataDir, first, keys);
  const startedAt = performance.now();
  const gatehouse = await startGatehouseProcess({ dataDir, keepData: true });
  return { gatehouse, routes, readyMs: performance.now() - startedAt };
}

/** Alternates between the two processes, so that a busy moment of the machine affects both. */
async function writeGrowth(few: SeededNode, many: SeededNode): Promise<Measurement> {
  const patch = ({ gatehouse, routes }: SeededNode, index: number) => {
    const { gateway, rule } = routes[index % FEW]!;
    return gatehouse.api("PATCH", `/gateways/${gateway}/rules/${rule}`, { priority: index });
  };
  const times = { few: new Array<number>(), many: new Array<number>() };
  for (let round = 0; round < ROUNDS; round++) {
    times.few.push(...(await timeEach(1, () => patch(few, round))));
    times.many.push(...(await timeEach(1, () => patch(many, round))));
  }
  const [small, large] = [median(times.few), median(times.many)];
  return {
    what: `PATCH of a rule, to ${FEW} gateways`,
    value: large / small,
    unit: "×",
    atMost: 1.5,
    note: `p50 ${large.toFixed(2)} ms and ${small.toFixed(2)} ms`,
  };
}

async function deletionLatency({ gatehouse, routes }: SeededNode): Promise<Measurement> {
  const deleted = routes.slice(-40);
  const times = await timeEach(deleted.length, (index) =>
    gatehouse.api("DELETE", `/gateways/${deleted[index]!.gateway}?cascade=true`),
  );
  return {
    what: "DELETE of a gateway without API keys, p50",
    value: median(times),
    unit: "ms",
    atMost: 5,
    note: `p99 ${quantile(times, 0.99).toFixed(2)} ms`,
  };
}

async function seedUpTo(gatehouse: GatehouseProcess, gateways: string[], size: number): Promise<void> {
  const missing = Array.from({ length: size - gateways.length });
  await inParallel(missing, async () => {
    const { body: gateway } = await gatehouse.api("POST", "/gateways", { name: `bench ${gateways.length}` });
    const base = `/gateways/${gateway.id}`;
    const targets = [{ provider: "bench", base_url: "http://127.0.0.1:9" }];
    const { body: upstream } = await gatehouse.api("POST", `${base}/upstreams`, { name: "u", targets });
    const { body: service } = await gatehouse.api("POST", `${base}/services`, {
      name: "s",
      upstream_id: upstream.id,
    });
    for (let rule = 0; rule < RULES; rule++) {
      const fields = { service_id: service.id, path: `/v1/rule-${rule}`, methods: ["POST"] };
      await gatehouse.api("POST", `${base}/rules`, fields);
    }
    gateways.push(gateway.id);
  });
}

async function writeCost(
  gatehouse: GatehouseProcess,
  gateways: readonly string[],
  size: number,
): Promise<Measurement> {
  const places = await Promise.all(
    gateways.slice(0, 10).map(async (id) => {
      const { body } = await gatehouse.api("GET", `/gateways/${id}/rules?limit=1`);
      return `/gateways/${id}/rules/${body.rules[0].id}`;
    }),
  );
  const times = await timeEach(ROUNDS, (index) => {
    return gatehouse.api("PATCH", places[index % places.length] ?? "", { priority: index });
  });
  return {
    what: `${size} gateways`,
    value: median(times),
    unit: "ms",
    note: `p99 ${quantile(times, 0.99).toFixed(2)} ms`,
  };
}

async function readLatency(gatehouse: GatehouseProcess, gateways: readonly string[]): Promise<Measurement[]> {
  const get = await timeEach(ROUNDS, (index) =>
    gatehouse.api("GET", `/gateways/${gateways[index % gateways.length]}`),
  );
  const list = await timeEach(ROUNDS / 4, (index) =>
    gatehouse.api("GET", `/gateways?limit=100&offset=${(index % 10) * 100}`),
  );
  const row = (what: string, times: number[]) => ({
    what,
    value: median(times),
    unit: "ms",
    note: `p99 ${quantile(times, 0.99).toFixed(2)} ms`,
  });
  return [row("get one gateway", get), row("list 100 of 1,000 gateways", list)];
}

async function writeRate(gatehouse: GatehouseProcess): Promise<Measurement[]> {
  const count = 2000;
  const started = performance.now();
  await inParallel(Array.from({ length: count }), (_, index) =>
    gatehouse.api("POST", "/gateways", { name: `rate ${index}` }),
  );
  const seconds = (performance.now() - started) / 1000;
  return [{ what: `${PARALLEL} clients at once`, value: count / seconds, unit: "writes/s" }];
}

async function inParallel<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++) await work(items[index] as T, index);
  };
  await Promise.all(Array.from({ length: PARALLEL }, worker));
}
