// Checks the providers and token servers of the stored configuration: names resolve, TCP and TLS connect. No request is sent.
import type { Settings } from "../../config/settings.ts";
import { providerNamed } from "../../formats/providers.ts";
import { CredentialCipher } from "../../store/credential-cipher.ts";
import { openStore } from "../../store/sql-store.ts";
import { tokenAddressOf } from "../../upstream/credentials/access-tokens.ts";
import { resolveHost } from "../../upstream/host-resolver.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import { fail, ok, warn, type CheckResult } from "./check-result.ts";
import { databaseUrl } from "../store-access.ts";
import { checkConnection, hostOf } from "./connection-check.ts";
import { cipherForStored } from "./store-checks.ts";

const MAX_CONCURRENT = 8;
const MAX_ORIGINS = 50;
const PROXY_VARIABLES = ["HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"];

export async function checkProviders(settings: Settings): Promise<CheckResult[]> {
  const cipher = await cipherForStored("providers", "no configuration is stored yet", settings);
  if (!(cipher instanceof CredentialCipher)) return [cipher];
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

/** Returns the distinct origins of the targets of all upstreams, and of their token servers. */
async function storedOrigins(url: string, cipher: CredentialCipher): Promise<string[]> {
  const store = openStore(url, cipher);
  try {
    return await store.view(async (view) => {
      const all = await view.allGatewayParts();
      const targets = all.flatMap(({ upstreams }) => upstreams).flatMap((upstream) => upstream.targets);
      const urls = targets.flatMap(({ base_url, provider, credentials }) => [
        base_url ?? providerNamed(provider).base_url,
        credentials === null ? null : tokenAddressOf(credentials),
      ]);
      return [...new Set(urls.filter((each) => each !== null).map((each) => new URL(each).origin))];
    });
  } finally {
    await store.close();
  }
}

async function checkOrigin(url: URL): Promise<CheckResult> {
  if (await isForbidden(hostOf(url))) {
    const detail = `${url.origin} resolves to a link-local or metadata address`;
    return fail("providers", detail, "set another base_url or token_url");
  }
  return checkConnection("providers", url, { setting: "base_url or token_url", server: "the server" });
}

async function isForbidden(host: string): Promise<boolean> {
  return resolveHost(host).then(
    () => false,
    (error: unknown) => error instanceof UpstreamError && error.kind === "forbidden",
  );
}
