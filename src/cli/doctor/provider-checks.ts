// Checks the providers of the stored configuration: names resolve, TCP and TLS connect. No request is sent.
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { errorCode } from "../../base/error-code.ts";
import type { Settings } from "../../config/settings.ts";
import { providerNamed } from "../../formats/providers.ts";
import type { CredentialCipher } from "../../store/credential-cipher.ts";
import { SCHEMA_VERSION } from "../../store/migrate.ts";
import { openStore } from "../../store/sql-store.ts";
import { resolveHost } from "../../upstream/host-resolver.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { fail, ok, warn, type CheckResult } from "./check-result.ts";
import { databaseUrl, findCipher } from "../store-access.ts";
import { schemaVersion } from "./store-checks.ts";

const CONNECT_MS = 5000;
const MAX_CONCURRENT = 8;
const MAX_ORIGINS = 50;
const PROXY_VARIABLES = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

export async function checkProviders(settings: Settings): Promise<CheckResult[]> {
  const cipher = findCipher(settings);
  // checkStore has already reported a database that cannot be used.
  const version = (await schemaVersion(settings).catch(() => null))?.version;
  if (version !== SCHEMA_VERSION || cipher === null)
    return [ok("providers", "no configuration is stored yet")];
  let origins: string[];
  try {
    origins = await storedOrigins(databaseUrl(settings), cipher);
  } catch (error) {
    // The message of the store says how to fix it, for example which key is wrong.
    const fix = error instanceof Error ? error.message : String(error);
    return [fail("providers", "the stored configuration cannot be read", fix)];
  }
  if (origins.length === 0) return [ok("providers", "no target is configured yet")];
  const proxy = PROXY_VARIABLES.find((name) => (process.env[name] ?? "") !== "");
  if (proxy !== undefined)
    return [
      warn("providers", `not checked because ${proxy} is set`, "check that the proxy forwards requests"),
    ];
  const results: CheckResult[] = [];
  const queue = origins.slice(0, MAX_ORIGINS);
  const work = async () => {
    for (let origin = queue.shift(); origin !== undefined; origin = queue.shift())
      results.push(await checkOrigin(new URL(origin)));
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT }, work));
  if (origins.length > MAX_ORIGINS)
    results.push(ok("providers", `${origins.length - MAX_ORIGINS} more were not checked`));
  return results.sort((a, b) => (a.detail < b.detail ? -1 : 1));
}

/** Returns the distinct origins of the targets of all upstreams. */
async function storedOrigins(url: string, cipher: CredentialCipher): Promise<string[]> {
  const store = openStore(url, cipher);
  try {
    return await store.view(async (view) => {
      const all = await view.allGatewayParts();
      const targets = all.flatMap(({ upstreams }) => upstreams).flatMap((upstream) => upstream.targets);
      const urls = targets.map(({ base_url, provider }) => base_url ?? providerNamed(provider).base_url);
      return [...new Set(urls.filter((each) => each !== null).map((each) => new URL(each).origin))];
    });
  } finally {
    await store.close();
  }
}

async function checkOrigin(url: URL): Promise<CheckResult> {
  const name = "providers";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (await isForbidden(host)) {
    const detail = `${url.origin} resolves to a link-local or metadata address`;
    return fail(name, detail, "set another base_url");
  }
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const startedAt = performance.now();
  try {
    await connected(
      isTls ? connectTls({ host, port, servername: host }) : connectTcp({ host, port }),
      isTls ? "secureConnect" : "connect",
    );
    const ms = Math.round(performance.now() - startedAt);
    return ok(name, `${url.origin} is reachable${isTls ? " over TLS" : ""} (${ms} ms)`);
  } catch (error) {
    const code = errorCode(error);
    const reason = code ?? (error instanceof Error ? error.message : String(error));
    return fail(name, `${url.origin} is not reachable (${reason})`, fixFor(code ?? ""));
  }
}

async function isForbidden(host: string): Promise<boolean> {
  return resolveHost(host).then(
    () => false,
    (error: unknown) => error instanceof UpstreamError && error.kind === "forbidden",
  );
}

function fixFor(code: string): string {
  if (/CERT|SIGNATURE|ALTNAME|SELF_SIGNED/.test(code))
    return "the certificate is not accepted; check the clock, and whether a proxy intercepts TLS";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return "check base_url, and that this machine can resolve names";
  return "check that the provider is running and that no firewall blocks the connection";
}

async function connected(socket: Socket, event: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = setTimeout(
    () => reject(Object.assign(new Error(`no connection within ${CONNECT_MS} ms`), { code: "ETIMEDOUT" })),
    CONNECT_MS,
  );
  socket.once(event, () => resolve(undefined)).once("error", reject);
  try {
    await promise;
  } finally {
    clearTimeout(timer);
    socket.on("error", () => undefined).destroy();
  }
}
