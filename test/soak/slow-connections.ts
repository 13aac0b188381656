// What thousands of slow connections cost the good clients: the 99th percentile of their times without and with them.
//   bun test/soak/slow-connections.ts [--connections 5000] [--seconds 20]
import { parseArgs } from "node:util";
import { openFiles } from "../fault/process-watch.ts";
import { startFakeProvider } from "../../src/fake-provider/server.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { waitUntil } from "../support/waiting.ts";

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "5000" },
    seconds: { type: "string", default: "20" },
    /** For the process of the slow clients: where to connect to. */
    drip: { type: "string" },
  },
});
const connections = Number(values.connections);
const HEAD = "POST /slow HTTP/1.1\r\nHost: x\r\n";
const DRIP_MS = 2000;
const GOOD_PER_SECOND = 100;

/** Half of them drip their headers, half a body; whoever is thrown out comes back. */
function dripFor(port: number, at: number): void {
  const isBody = at % 2 === 0;
  const again = () => void setTimeout(() => dripFor(port, at), 500 + Math.random() * 1000);
  Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open(socket) {
        socket.write(isBody ? `${HEAD}Content-Length: 5000\r\n\r\n` : HEAD);
        const drip = setInterval(() => socket.write("a"), DRIP_MS * (0.5 + Math.random()));
        socket.data = drip;
      },
      data: () => undefined,
      close(socket: { data: unknown }) {
        clearInterval(socket.data as Timer);
        again();
      },
      error: () => undefined,
    },
  }).catch(again);
}

/** Milliseconds of each request, begun at a steady rate whatever the answers do. */
async function measure(url: string, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const asked: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let serial = 0; serial < seconds * GOOD_PER_SECOND; serial++) {
    const dueAt = startedAt + (serial * 1000) / GOOD_PER_SECOND;
    if (dueAt > performance.now()) await Bun.sleep(dueAt - performance.now());
    const begunAt = performance.now();
    const ask = async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`a good client got ${response.status}`);
      times.push(performance.now() - begunAt);
    };
    asked.push(ask());
  }
  await Promise.all(asked);
  return times.sort((one, other) => one - other);
}

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
const print = (line: string) => void process.stdout.write(`${line}\n`);

if (values.drip !== undefined) {
  for (let at = 0; at < connections; at++) {
    dripFor(Number(values.drip), at);
    if (at % 100 === 99) await Bun.sleep(20);
  }
} else {
  const seconds = Number(values.seconds);
  const gatehouse = await startGatehouseProcess();
  const provider = await startFakeProvider({ record: false });
  const { path } = await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] } });
  await seedRoute(gatehouse, { upstream: { targets: [targetAt(provider)] }, rule: { path: "/slow" } });
  const url = gatehouse.proxyUrl + path;
  await measure(url, 3);
  const alone = await measure(url, seconds);
  const { port } = new URL(gatehouse.proxyUrl);
  const dripping = Bun.spawn(
    [process.execPath, import.meta.path, "--drip", port, "--connections", String(connections)],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  await waitUntil(() => openFiles(gatehouse) > connections * 0.9, 60_000);
  const beset = await measure(url, seconds);
  const open = openFiles(gatehouse);
  dripping.kill("SIGKILL");
  await gatehouse.stop();
  await provider.stop();
  const line = (name: string, times: readonly number[]) =>
    `${name.padEnd(28)} p50 ${percentile(times, 0.5).toFixed(2)} ms  p99 ${percentile(times, 0.99).toFixed(2)} ms`;
  print(line("alone", alone));
  print(line(`beside ${open} open files`, beset));
  print(`ratio of p99 ${(percentile(beset, 0.99) / percentile(alone, 0.99)).toFixed(2)}`);
  process.exit();
}
