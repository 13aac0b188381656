// No spelling of a path leaves the prefix of its rule, whatever the Host is: directly, through the nginx of the deployment, and to a
// provider behind a forward proxy.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { connectRaw } from "../support/raw-client.ts";
import { hasNginx, startDeployedBalancer, type LoadBalancer } from "../support/nginx.ts";
import { seedRoute } from "../support/proxy-fixtures.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";

/** The targets of the requests that arrived at the provider or its forward proxy, without scheme and host. */
const received: string[] = [];
const provider = createServer((incoming, outgoing) => {
  received.push((incoming.url ?? "").replace(/^http:\/\/[^/?#]*/, ""));
  outgoing.end("ok");
});
const listening = Promise.withResolvers<undefined>();
provider.listen(0, "127.0.0.1", () => listening.resolve(undefined));
await listening.promise;
const { port } = provider.address() as AddressInfo;
afterAll(() => {
  provider.closeAllConnections();
  provider.close();
});
beforeEach(() => void (received.length = 0));

const direct = await useGatehouseProcess();
const proxied = await useGatehouseProcess({ env: { HTTP_PROXY: `http://127.0.0.1:${port}` } });
let balancer: LoadBalancer | null = null;

beforeAll(async () => {
  for (const [gatehouse, base_url] of [
    [direct, `http://127.0.0.1:${port}`],
    [proxied, "http://provider.invalid"],
  ] as const) {
    const target = (fields: Record<string, unknown>) => ({ targets: [{ provider: "raw", ...fields }] });
    const methods = ["GET"];
    await seedRoute(gatehouse, {
      upstream: target({ base_url, path: "/tenants/acme" }),
      rule: { path: "/public/*", methods, strip_path: true },
    });
    await seedRoute(gatehouse, {
      upstream: target({ base_url: `${base_url}/base`, path: "" }),
      rule: { path: "/kept/*", methods },
    });
  }
  if (hasNginx) {
    const portOf = (url: string) => Number(new URL(url).port);
    balancer = await startDeployedBalancer([portOf(direct.proxyUrl)], portOf(direct.adminUrl));
  }
});
afterAll(() => balancer?.stop());

const ESCAPES = [
  ...["/../admin", "/%2e%2e/admin", "/.%2E/admin", "/%2e./admin", "/a/../../admin", "//../../admin", "/.."],
  ...[
    "/..%2fadmin",
    "/..%2Fadmin",
    "/%2e%2e%2fadmin",
    "%2f..%2fadmin",
    "/x%2f../../admin",
    "/a%2f..%2f..%2fadmin",
  ],
  ...["/..%5cadmin", "/..\\admin", "\\..\\admin", "/%2e%2e%5Cadmin", "/a\\..\\..\\admin"],
  ...["/..;/admin", "/..;x=y/admin", "/..%3b/admin", "/%2e%2e;/admin", "/.;/..;/admin", "/;/../../admin"],
  ...["/..#/admin", "/..?/../admin", "/..%23/../../admin", "/..%00/admin", "/..%09/admin", "/.%0a./admin"],
  ...["/.\t./admin", "/. ./admin", "/.\x0b./admin", "/.\xa0./admin", "/..\x01/admin", "/%252e%252e/admin"],
  ...[
    "/../../../../../../etc/passwd",
    "/./../admin",
    "/..//admin",
    "/%c0%ae%c0%ae/admin",
    "../admin",
    "..;/admin",
  ],
];
const TARGETS = [
  "/public",
  "/kept",
  "//public",
  "/%70ublic",
  "http://other.example/public",
  "http://[/kept",
].flatMap((prefix) => ESCAPES.map((escape) => prefix + escape));
/** The second group does not parse as the authority of a URL. */
const HOSTS = [
  "gateway.example",
  "a:99999",
  "[1:2]",
  "999.999.999.999",
  "a b",
  "",
  "a/../b",
  "a?b",
  "a#b",
  "a\\b",
  "%",
];

/** Sends each target over its own connection. Resolves to the statuses; 0 for a connection that was closed. */
async function sendAll(url: string, targets: readonly string[], host: string): Promise<number[]> {
  return Promise.all(
    targets.map(async (target) => {
      const client = await connectRaw(Number(new URL(url).port));
      client.send(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      const { received: text } = await client.ended;
      return Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0);
    }),
  );
}

/** Returns the path that a lenient server uses: decoded once, backslashes as slashes, and segments without what parsers drop. */
function lenientPath(target: string): string {
  const [path = ""] = target.split("?");
  const decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  const segments: string[] = [];
  for (const segment of decoded
    .replaceAll(/[\t\n\r]/g, "")
    .replaceAll("\\", "/")
    .split("/")) {
    const [name = ""] = segment.split(/[;?#\0]/);
    if (name === "..") segments.pop();
    else if (name !== ".") segments.push(name);
  }
  return segments.join("/");
}

const WAYS: [name: string, url: () => string, isSkipped: boolean][] = [
  ["directly", () => direct.proxyUrl, false],
  ["through the nginx of the deployment", () => balancer?.url ?? "", !hasNginx],
  ["to a provider behind a forward proxy", () => proxied.proxyUrl, false],
];
for (const [way, url, isSkipped] of WAYS) {
  describe.skipIf(isSkipped)(way, () => {
    test.each(HOSTS)("with Host %j, no path leaves the prefix of its rule", async (host) => {
      const statuses = await sendAll(url(), TARGETS, host);
      // The runtime reads what follows whitespace in a target as the version of HTTP, and responds 505.
      const failures = TARGETS.filter((_, index) => [500, 501, 502, 503, 504].includes(statuses[index] ?? 0));
      expect(failures).toEqual([]);
      const outside = received.filter(
        (target) => !/^\/(?:tenants\/acme|base\/kept)(?:\/|$)/.test(lenientPath(target)),
      );
      expect(outside).toEqual([]);
      if (host !== "gateway.example") expect(received).toEqual([]);
    });

    test("other paths arrive as they were sent", async () => {
      const targets = [
        "/public/a/b",
        "/kept/meta%2Fllama?x=..%2f..",
        "/kept/..a/b..",
        "/public",
        "/kept/a;b=c/%E2%82%AC",
      ];
      expect(await sendAll(url(), targets, "gateway.example")).toEqual(targets.map(() => 200));
      expect(received.sort()).toEqual(
        [
          "/tenants/acme/a/b",
          "/base/kept/meta%2Fllama?x=..%2f..",
          "/base/kept/..a/b..",
          "/tenants/acme",
          "/base/kept/a;b=c/%E2%82%AC",
        ].sort(),
      );
    });
  });
}
