// What the doctor finds of the providers in the configuration: their names resolve, TCP and TLS stand. None is called.
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { findServerSecret } from "../config/server-secret.ts";
import type { Settings } from "../config/settings.ts";
import { providerNamed } from "../formats/providers.ts";
import { CredentialCipher } from "../store/credential-cipher.ts";
import { SCHEMA_VERSION } from "../store/migrate.ts";
import { openStore } from "../store/sql-store.ts";
import { resolveHost } from "../upstream/host-resolver.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import { fail, ok, warn, type Check } from "./doctor-check.ts";
import { databaseUrl, schemaVersion } from "./doctor-stores.ts";

const CONNECT_MS = 5000;
const AT_ONCE = 8;
const MAX_ORIGINS = 50;
const PROXIES = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

export async function checkProviders(settings: Settings): Promise<Check[]> {
  const secret = settings.ENCRYPTION_KEY ?? findServerSecret(settings);
  // What was found wrong with the store has been told already.
  const version = (await schemaVersion(settings).catch(() => null))?.version;
  if (version !== SCHEMA_VERSION || secret === null)
    return [ok("providers", "no configuration is stored yet")];
  let origins: string[];
  try {
    origins = await storedOrigins(databaseUrl(settings), secret);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return [fail("providers", "the stored configuration cannot be read", reason)];
  }
  if (origins.length === 0) return [ok("providers", "no target is configured yet")];
  const proxy = PROXIES.find((name) => (process.env[name] ?? "") !== "");
  if (proxy !== undefined)
    return [warn("providers", `not tried: ${proxy} is set`, "see that the proxy lets requests through")];
  const checks: Check[] = [];
  const rest = origins.slice(0, MAX_ORIGINS);
  const work = async () => {
    for (let origin = rest.shift(); origin !== undefined; origin = rest.shift())
      checks.push(await checkOrigin(new URL(origin)));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (origins.length > MAX_ORIGINS)
    checks.push(ok("providers", `${origins.length - MAX_ORIGINS} more were not tried`));
  return checks.sort((a, b) => (a.detail < b.detail ? -1 : 1));
}

/** Where the targets of all upstreams are, once each. */
async function storedOrigins(url: string, secret: string): Promise<string[]> {
  const store = openStore(url, new CredentialCipher(secret));
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

async function checkOrigin(url: URL): Promise<Check> {
  const name = "providers";
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (await isForbidden(host))
    return fail(name, `${url.origin} leads to a link-local or metadata address`, "give another base_url");
  const isTls = url.protocol === "https:";
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port);
  const startedAt = performance.now();
  try {
    await connected(
      isTls ? connectTls({ host, port, servername: host }) : connectTcp({ host, port }),
      isTls ? "secureConnect" : "connect",
    );
    const ms = Math.round(performance.now() - startedAt);
    return ok(name, `${url.origin} can be reached${isTls ? " over TLS" : ""}, ${ms} ms`);
  } catch (error) {
    const { code = "", message } = error as { code?: string; message: string };
    return fail(name, `${url.origin} cannot be reached (${code === "" ? message : code})`, mendFor(code));
  }
}

async function isForbidden(host: string): Promise<boolean> {
  return resolveHost(host).then(
    () => false,
    (error: unknown) => error instanceof UpstreamError && error.kind === "forbidden",
  );
}

function mendFor(code: string): string {
  if (/CERT|SIGNATURE|ALTNAME|SELF_SIGNED/.test(code))
    return "its certificate is not accepted; see that the clock is right and whether something stands in between";
  if (code === "ENOTFOUND" || code === "EAI_AGAIN")
    return "see that base_url is right and that names are resolved here";
  return "see that it runs and that a firewall lets connections through";
}

async function connected(socket: Socket, event: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  const timer = setTimeout(
    () => reject(Object.assign(new Error("no connection in time"), { code: "ETIMEDOUT" })),
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
