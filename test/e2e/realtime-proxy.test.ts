// WebSockets to providers over TLS, and through the forward proxy of HTTP_PROXY and HTTPS_PROXY.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { createServer } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { openRealtime, useRealtimeProvider } from "../support/realtime-provider.ts";
import { isInstalled } from "../support/required-program.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";

const hasOpenssl = isInstalled(Bun.which("openssl"), {
  name: "openssl",
  tests: "the tests of WebSockets over TLS",
  install: "apt-get install openssl",
});

const directory = temporaryDirectory();
const [key, certificate] = [join(directory, "key.pem"), join(directory, "cert.pem")];
if (hasOpenssl)
  Bun.spawnSync([
    ...["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate],
    ...["-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:secure.invalid"],
  ]);

const plain = useRealtimeProvider();
const secure = hasOpenssl
  ? useRealtimeProvider({ key: Bun.file(key), cert: Bun.file(certificate) })
  : useRealtimeProvider();

/** The targets and credentials of the CONNECT requests that the proxy received. */
const tunnels: { readonly target: string | undefined; readonly authorization: string | undefined }[] = [];
let proxyStatus = 200;
const proxy = createServer();
// Only the proxy knows these names.
const PORTS: Readonly<Record<string, number>> = {
  "plain.invalid:80": Number(new URL(plain.url).port),
  "secure.invalid:443": Number(new URL(secure.url).port),
  "other.invalid:443": Number(new URL(secure.url).port),
};
proxy.on("connect", ({ url, headers }, client) => {
  tunnels.push({ target: url, authorization: headers["proxy-authorization"] });
  if (proxyStatus !== 200) {
    client.end(`HTTP/1.1 ${proxyStatus} No\r\n\r\n`);
    return;
  }
  const provider = connect(PORTS[url ?? ""] ?? 0, "127.0.0.1", () => {
    client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    provider.pipe(client);
    client.pipe(provider);
  });
  for (const socket of [client, provider]) socket.on("error", () => provider.destroy());
});
const listening = Promise.withResolvers<undefined>();
proxy.listen(0, "127.0.0.1", () => listening.resolve(undefined));
await listening.promise;
const address = proxy.address();
if (address === null || typeof address === "string") throw new Error("the proxy has no port");
const proxyUrl = `http://user:p%40ss@127.0.0.1:${address.port}`;
const gatehouse = await useGatehouseProcess({
  env: {
    HTTP_PROXY: proxyUrl,
    HTTPS_PROXY: proxyUrl,
    NO_PROXY: "localhost",
    ...(hasOpenssl && { NODE_EXTRA_CA_CERTS: certificate }),
  },
});
beforeEach(() => {
  tunnels.length = 0;
  proxyStatus = 200;
});
afterAll(() => {
  proxy.closeAllConnections();
  proxy.close();
  rmSync(directory, { recursive: true, force: true });
});

let count = 0;
async function connectTo(base_url: string): Promise<Awaited<ReturnType<typeof openRealtime>>> {
  const { path } = await seedRoute(gatehouse, {
    upstream: { targets: [{ provider: "openai", base_url }], max_attempts: 1 },
    rule: { path: `/p${++count}/realtime`, methods: ["GET"] },
  });
  return openRealtime(gatehouse.proxyUrl + path);
}

async function expectEcho(client: Awaited<ReturnType<typeof connectTo>>): Promise<void> {
  for (const message of ["hello", "x".repeat(500_000)]) {
    client.socket.send(message);
    expect(await client.next()).toBe(message);
  }
  client.socket.close(4000, "end");
  expect(await client.closed).toMatchObject({ code: 4000, reason: "end" });
}

const AUTHORIZATION = `Basic ${Buffer.from("user:p@ss").toString("base64")}`;

test("a WebSocket goes through a tunnel of the proxy, with the user of the proxy", async () => {
  await expectEcho(await connectTo("http://plain.invalid"));
  expect(tunnels).toEqual([{ target: "plain.invalid:80", authorization: AUTHORIZATION }]);
  expect(plain.handshakes[0]?.headers.get("proxy-authorization")).toBeNull();
});

test("a proxy that rejects the tunnel, or closes the connection, is 502", async () => {
  proxyStatus = 403;
  const failed = await connectTo("http://plain.invalid").catch((error: unknown) => String(error));
  expect(failed).toContain("502");
  expect(plain.handshakes).toEqual([]);
});

test("a host in NO_PROXY is connected to directly", async () => {
  await expectEcho(await connectTo(plain.url.replace("127.0.0.1", "localhost")));
  expect(tunnels).toEqual([]);
});

describe.skipIf(!hasOpenssl)("over TLS", () => {
  test("directly", async () => {
    await expectEcho(await connectTo(secure.url.replace("127.0.0.1", "localhost")));
    expect(tunnels).toEqual([]);
  });

  test("through a tunnel of the proxy", async () => {
    await expectEcho(await connectTo("https://secure.invalid"));
    expect(tunnels).toEqual([{ target: "secure.invalid:443", authorization: AUTHORIZATION }]);
  });

  test("a certificate for another name is 502", async () => {
    const failed = await connectTo("https://other.invalid").catch((error: unknown) => String(error));
    expect(failed).toContain("502");
    expect(secure.handshakes).toEqual([]);
  });
});
