// The effect of thousands of slow connections on other clients: the percentiles of their response times without and with them.
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
    /** In the process of the slow clients: the port to connect to. */
    port: { type: "string" },
  },
});
const connections = Number(values.connections);
const START = "POST /slow HTTP/1.1\r\nHost: x\r\n";
const BYTE_INTERVAL_MS = 2000;
const REQUESTS_PER_SECOND = 100;

/** Opens a connection that sends its headers, or every second one its body, byte by byte, and again when it is closed. */
function openSlowConnection(port: number, at: number): void {
  const isBody = at % 2 === 0;
  const again = () => void setTimeout(() => openSlowConnection(port, at), 500 + Math.random() * 1000);
  Bun.connect({
    hostname: "127.0.0.1",
    port,
    socket: {
      open(socket) {
        socket.write(isBody ? `${START}Content-Length: 5000\r\n\r\n` : START);
        const sending = setInterval(() => socket.write("a"), BYTE_INTERVAL_MS * (0.5 + Math.random()));
        socket.data = sending;
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

/** Sends requests at a steady rate, independent of the responses. Resolves to the sorted durations in milliseconds. */
async function measure(url: string, seconds: number): Promise<number[]> {
  const times: number[] = [];
  const pending: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let serial = 0; serial < seconds * REQUESTS_PER_SECOND; serial++) {
    const dueAt = startedAt + (serial * 1000) / REQUESTS_PER_SECOND;
    if (dueAt > performance.now()) await Bun.sleep(dueAt - performance.now());
    const sentAt = performance.now();
    const send = async () => {
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(CHAT),
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`an ordinary client got ${response.status}`);
      times.push(performance.now() - sentAt);
    };
    pending.push(send());
  }
  await Promise.all(pending);
  return times.sort((one, other) => one - other);
}

const percentile = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
const print = (line: string) => void process.stdout.write(`${line}\n`);

if (values.port !== undefined) {
  for (let at = 0; at < connections; at++) {
    openSlowConnection(Number(values.port), at);
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
  const slowClients = Bun.spawn(
    [process.execPath, import.meta.path, "--port", port, "--connections", String(connections)],
    { stdio: ["ignore", "inherit", "inherit"] },
  );
  await waitUntil(() => openFiles(gatehouse) > connections * 0.9, 60_000);
  const loaded = await measure(url, seconds);
  const open = openFiles(gatehouse);
  slowClients.kill("SIGKILL");
  await gatehouse.stop();
  await provider.stop();
  const line = (name: string, times: readonly number[]) =>
    `${name.padEnd(28)} p50 ${percentile(times, 0.5).toFixed(2)} ms  p99 ${percentile(times, 0.99).toFixed(2)} ms`;
  print(line("without slow connections", alone));
  print(line(`with ${open} open files`, loaded));
  print(`ratio of p99 ${(percentile(loaded, 0.99) / percentile(alone, 0.99)).toFixed(2)}`);
  process.exit();
}
