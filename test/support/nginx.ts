// A real nginx for tests: a load balancer over several nodes with keep-alive connections, as operators run one.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isInstalled } from "./required-program.ts";
import { waitFor } from "./waiting.ts";
import { freePort } from "./free-port.ts";

const program = Bun.which("nginx", { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin` });

export const hasNginx = isInstalled(program, {
  name: "nginx",
  tests: "tests with a load balancer",
  install: "apt-get install nginx-light",
});

export interface LoadBalancer {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts nginx with deploy/docker/nginx.conf, changed only in addresses and directories. Its URL is the one of the data plane. */
export async function startDeployedBalancer(
  proxyPorts: readonly number[],
  adminPort: number,
): Promise<LoadBalancer> {
  const [port, otherPort] = [freePort(), freePort()];
  const deployed = readFileSync(join(import.meta.dir, "../../deploy/docker/nginx.conf"), "utf8");
  const serverOf = (options: string) => (each: number) => `server 127.0.0.1:${each} ${options};`;
  return startNginx(port, (directory) =>
    `daemon off;\n${deployed}`
      .replace("worker_processes auto;", "worker_processes 1;")
      .replace("/tmp/nginx.pid", `${directory}/pid`)
      .replace("/dev/stderr", `${directory}/error.log`)
      .replaceAll(/_temp_path \/tmp\//g, `_temp_path ${directory}/temp/`)
      // Only newer versions of nginx can resolve names again.
      .replace(/^\s*resolver .*$/m, "")
      .replace(/server gateway:8081 resolve (.*);/, (_, options: string) =>
        proxyPorts.map(serverOf(options)).join("\n"),
      )
      .replace(/server gateway:8080 resolve (.*);/, (_, options: string) => serverOf(options)(adminPort))
      .replace("listen 8081;", `listen 127.0.0.1:${port};`)
      .replace("listen 8080;", `listen 127.0.0.1:${otherPort};`),
  );
}

async function startNginx(port: number, configure: (directory: string) => string): Promise<LoadBalancer> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-nginx-"));
  mkdirSync(join(directory, "temp"));
  writeFileSync(join(directory, "nginx.conf"), configure(directory));
  const child = Bun.spawn([program ?? "nginx", "-p", directory, "-c", join(directory, "nginx.conf")], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const url = `http://127.0.0.1:${port}`;
  await waitFor(() =>
    fetch(`${url}/healthz`).then(
      () => true,
      () => null,
    ),
  );
  return {
    url,
    async stop() {
      child.kill();
      await child.exited;
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
