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

const TEMPORARY = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];

export interface LoadBalancer {
  readonly url: string;
  stop(): Promise<void>;
}

export async function startLoadBalancer(nodePorts: readonly number[]): Promise<LoadBalancer> {
  const port = freePort();
  const servers = nodePorts.map((each) => `server 127.0.0.1:${each} max_fails=0;`).join(" ");
  return startNginx(port, (directory) => {
    const temporary = TEMPORARY.map((name) => `${name}_temp_path ${directory}/temp/${name};`).join(" ");
    return `daemon off; pid ${directory}/pid; error_log ${directory}/error.log; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; ${temporary}
  upstream nodes { ${servers} keepalive 32; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://nodes;
      proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;
      proxy_buffering off;
      # A node that shuts down may close a connection before it reads the request: retry on another node.
      proxy_next_upstream error non_idempotent;
    }
  }
}
`;
  });
}

/** Starts nginx with deploy/docker/nginx.conf, changed only in addresses and directories. Its URL is the one of the data plane. */
export async function startDeployedBalancer(proxyPort: number, adminPort: number): Promise<LoadBalancer> {
  const [port, otherPort] = [freePort(), freePort()];
  const deployed = readFileSync(join(import.meta.dir, "../../deploy/docker/nginx.conf"), "utf8");
  return startNginx(port, (directory) =>
    `daemon off;\n${deployed}`
      .replace("worker_processes auto;", "worker_processes 1;")
      .replace("/tmp/nginx.pid", `${directory}/pid`)
      .replace("/dev/stderr", `${directory}/error.log`)
      .replaceAll(/_temp_path \/tmp\//g, `_temp_path ${directory}/temp/`)
      // Only newer versions of nginx can resolve names again.
      .replace(/^\s*resolver .*$/m, "")
      .replace("server gateway:8081 resolve ", `server 127.0.0.1:${proxyPort} `)
      .replace("server gateway:8080 resolve ", `server 127.0.0.1:${adminPort} `)
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
