// gatehouse demo: the gateway with two stand-in providers and the specification's example configuration, with no
// account and no internet. Nothing is kept when it ends.
import { SignJWT } from "jose";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startFakeProvider, type FakeProvider } from "../fake-provider/server.ts";
import { readSettings, SettingsError, type Settings } from "../config/settings.ts";
import { HUB_FORMAT } from "../formats/format-names.ts";
import { startGatehouse, type Gatehouse } from "../main.ts";
import { EXAMPLE_UPSTREAM } from "../formats/example-upstream.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Command } from "./command.ts";
import { awaitSignal, runUntil } from "./run-until-signal.ts";
import { logFor } from "./serve.ts";
import { Words } from "./words.ts";

export const demo: Command = {
  summary: "try it: the gateway with two stand-in providers, no account needed",
  help: `Usage: gatehouse demo

Starts two stand-in providers and a gateway in front of them, makes one routed call, and prints commands to go on with.
Ports are those of ADMIN_PORT and PROXY_PORT, or free ones where these are taken. Nothing is kept.`,
  run: async (words) => {
    new Words(words, {});
    const directory = mkdtempSync(join(tmpdir(), "gatehouse-demo-"));
    const signal = awaitSignal();
    const providers: FakeProvider[] = [];
    try {
      for (const { provider } of EXAMPLE_UPSTREAM.targets)
        providers.push(await startFakeProvider({ name: provider }));
      const settings = demoSettings(directory);
      const log = logFor(settings);
      const gatehouse = await startOnFreePorts(settings, log);
      await introduce(gatehouse, settings, providers);
      await runUntil(signal, gatehouse, settings, log);
    } finally {
      await Promise.all(providers.map((provider) => provider.stop()));
      rmSync(directory, { recursive: true, force: true });
    }
    return 0;
  },
};

function demoSettings(directory: string): Settings {
  return readSettings({
    LOG_LEVEL: "warn",
    ...process.env,
    DATA_DIR: directory,
    DATABASE_URL: "",
    REDIS_URL: "",
    HOST: "127.0.0.1",
    SERVER_SECRET_KEY: randomBytes(32).toString("hex"),
    DRAIN_DELAY_MS: "0",
  });
}

async function startOnFreePorts(settings: Settings, log: Log): Promise<Gatehouse> {
  try {
    return await startGatehouse(settings, "all", log);
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return startGatehouse({ ...settings, ADMIN_PORT: 0, PROXY_PORT: 0 }, "all", log);
  }
}

/** Seeds the example through the Admin API, as an operator would, makes the first call and says what to do next. */
async function introduce(
  gatehouse: Gatehouse,
  settings: Settings,
  providers: readonly FakeProvider[],
): Promise<void> {
  const secret = new TextEncoder().encode(settings.SERVER_SECRET_KEY ?? "");
  const token = await new SignJWT({ sub: "demo" })
    .setProtectedHeader({ alg: "HS256" })
    .setExpirationTime("24h")
    .sign(secret);
  const create = async (path: string, body: unknown) => {
    const response = await fetch(`${gatehouse.adminUrl ?? ""}/api/v1${path}`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the demo could not be set up: ${await response.text()}`);
    return (await response.json()) as { id: string; key?: string };
  };
  const targets = EXAMPLE_UPSTREAM.targets.map((target, index) => ({
    ...target,
    base_url: providers[index]?.url,
  }));
  const gateway = await create("/gateways", { name: "demo" });
  const place = `/gateways/${gateway.id}`;
  const upstream = await create(`${place}/upstreams`, { ...EXAMPLE_UPSTREAM, targets });
  const service = await create(`${place}/services`, { name: "chat", upstream_id: upstream.id });
  const path = "/v1/chat/completions";
  const rule = { service_id: service.id, path, methods: ["POST"], response_format: HUB_FORMAT };
  await create(`${place}/rules`, rule);
  const { key = "" } = await create("/iam/api-keys", { name: "demo", subject: gateway.id });
  const url = `${gatehouse.proxyUrl ?? ""}${path}`;
  const ask = {
    model: targets[0]?.default_model,
    messages: [{ role: "user", content: "Hello, Gatehouse!" }],
  };
  const answer = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
    body: JSON.stringify(ask),
  });
  console.log(
    `A routed call: POST ${url} → ${answer.status}, by ${answer.headers.get("x-gw-provider") ?? "nobody"}`,
  );
  console.log(await answer.text());
  console.log(
    nextCommands(
      url,
      key,
      token,
      gatehouse.adminUrl ?? "",
      targets.map((target) => target.default_model),
    ),
  );
}

function nextCommands(
  url: string,
  key: string,
  token: string,
  adminUrl: string,
  models: readonly string[],
): string {
  const chat = (model: string, rest = "") =>
    `curl -sS${rest === "" ? "" : "N"} ${url} -H "Content-Type: application/json" -H "X-GW-API-Key: ${key}" \\
  -d '{"model": "${model}"${rest}, "messages": [{"role": "user", "content": "Tell me something."}]}'`;
  return `
Paste these into another terminal.

# one provider
${chat(models[0] ?? "")}

# the other, streamed; its answer comes in the same shape
${chat(models[1] ?? "", ', "stream": true')}

# the models that this key may use
curl -sS ${new URL("/v1/models", url).href} -H "X-GW-API-Key: ${key}"

# the configuration, through the Admin API
curl -sS ${adminUrl}/api/v1/gateways -H "Authorization: Bearer ${token}"

API reference: ${adminUrl}/api/docs    Ctrl-C ends the demo and forgets it.`;
}
