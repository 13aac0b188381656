// nginx in two roles: the provider, which responds to every request with one chat completion, and the reverse proxy, which is
// the lower bound of what a gateway costs.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CHAT_RESPONSE, MODEL_LIST } from "./chat-payload.ts";
import { startPinned, type PinnedProcess } from "./pinned-process.ts";

const SEARCHED = `${process.env["PATH"] ?? ""}:/usr/sbin:/usr/local/sbin`;
export const nginx = Bun.which("nginx", { PATH: SEARCHED });
export const INSTALL_NGINX = "apt-get install nginx-light";

/**
 * Starts the provider. `return` would respond before the rest of a large body arrives, which no real provider does, so
 * large bodies are read completely by a proxy that sends an empty request to the same server.
 */
export function startNginxProvider(
  folder: string,
  port: number,
  cores: string,
  workers = 1,
  response = CHAT_RESPONSE,
): PinnedProcess {
  const server = [
    'map $content_length $is_large { default 0; "~^[0-9]{5,}$" 1; }',
    `upstream itself { server 127.0.0.1:${port}; keepalive 256; keepalive_requests 100000000; }`,
    "server {",
    `  listen 127.0.0.1:${port} backlog=4096;`,
    "  default_type application/json;",
    "  location / {",
    "    if ($is_large) { rewrite ^ /read-body last; }",
    `    return 200 '${response}';`,
    "  }",
    // Some gateways read the list of models when they start.
    `  location = /v1/models { return 200 '${MODEL_LIST}'; }`,
    "  location = /read-body {",
    "    internal;",
    "    proxy_pass http://itself/;",
    "    proxy_method GET;",
    "    proxy_pass_request_body off;",
    "    proxy_pass_request_headers off;",
    '    proxy_set_header Content-Length "";',
    "    proxy_http_version 1.1;",
    '    proxy_set_header Connection "";',
    "  }",
    "}",
  ];
  return start(folder, "provider", cores, server, workers);
}

interface NginxFrontOptions {
  readonly port: number;
  readonly http2: boolean;
  /** Null: plain HTTP. */
  readonly certificate: { readonly certFile: string; readonly keyFile: string } | null;
  /** Port of the server that creates the responses. */
  readonly backend: number;
  /** File with one line per request: protocol and number of the request on its connection. */
  readonly accessLog: string;
}

/** Starts a typical front of a provider: it terminates TLS and keeps connections alive. */
export function startNginxFront(folder: string, options: NginxFrontOptions, cores: string): PinnedProcess {
  const { port, http2, certificate, backend, accessLog } = options;
  const listenOptions = certificate === null ? "" : http2 ? " ssl http2" : " ssl";
  return start(folder, `front-${port}`, cores, [
    "log_format reuse '$server_protocol $connection_requests';",
    `upstream backend { server 127.0.0.1:${backend}; keepalive 1024; keepalive_requests 100000000; }`,
    "server {",
    `  listen 127.0.0.1:${port}${listenOptions} backlog=4096;`,
    ...(certificate === null
      ? []
      : [`  ssl_certificate ${certificate.certFile};`, `  ssl_certificate_key ${certificate.keyFile};`]),
    "  http2_max_concurrent_streams 1024;",
    `  access_log ${accessLog} reuse buffer=64k flush=1s;`,
    "  location / {",
    "    proxy_pass http://backend;",
    "    proxy_http_version 1.1;",
    '    proxy_set_header Connection "";',
    "  }",
    "}",
  ]);
}

/** Starts a minimal reverse proxy: keep-alive on both sides, no log. */
export function startNginxProxy(
  folder: string,
  port: number,
  provider: number,
  cores: string,
): PinnedProcess {
  return start(folder, "proxy", cores, [
    `upstream provider { server 127.0.0.1:${provider}; keepalive 256; keepalive_requests 100000000; }`,
    "server {",
    `  listen 127.0.0.1:${port} backlog=4096;`,
    "  location / {",
    "    proxy_pass http://provider;",
    "    proxy_http_version 1.1;",
    '    proxy_set_header Connection "";',
    "  }",
    "}",
  ]);
}

function start(
  folder: string,
  name: string,
  cores: string,
  server: readonly string[],
  workers = 1,
): PinnedProcess {
  const home = join(folder, `nginx-${name}`);
  mkdirSync(home, { recursive: true });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `  ${kind}_temp_path ${join(home, kind)};`,
  );
  const configuration = [
    ...(process.getuid?.() === 0 ? ["user root;"] : []),
    `worker_processes ${workers};`,
    `pid ${join(home, "pid")};`,
    "error_log stderr error;",
    "events { worker_connections 16384; }",
    "http {",
    "  access_log off;",
    "  keepalive_requests 100000000;",
    "  keepalive_timeout 600s;",
    "  client_max_body_size 16m;",
    "  client_body_buffer_size 2m;",
    ...temporary,
    ...server.map((line) => `  ${line}`),
    "}",
  ];
  const file = join(home, "nginx.conf");
  writeFileSync(file, configuration.join("\n"));
  const command = [nginx ?? "nginx", "-p", home, "-e", "stderr", "-c", file, "-g", "daemon off;"];
  return startPinned(command, { cores });
}
