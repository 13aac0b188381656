// A real nginx for tests: a load balancer over several nodes with keep-alive connections, as operators run one.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./postgres.ts";
import { isInstalled } from "./required-program.ts";
import { waitFor } from "./waiting.ts";

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

export async function startLoadBalancer(nodePorts: readonly number[]): Promise<LoadBalancer> {
  const directory = mkdtempSync(join(tmpdir(), "gatehouse-nginx-"));
  mkdirSync(join(directory, "temp"));
  const port = await freePort();
  const servers = nodePorts.map((each) => `server 127.0.0.1:${each} max_fails=0;`).join(" ");
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    .map((name) => `${name}_temp_path ${directory}/temp/${name};`)
    .join(" ");
  writeFileSync(
    join(directory, "nginx.conf"),
    `daemon off; pid ${directory}/pid; error_log ${directory}/error.log; worker_processes 1;
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
`,
  );
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
