// Takes screenshots of every console page with live traffic: `npm run screenshots`. Writes them to screenshots/, and those
// of the README also to docs/images/. Requires Chromium (apt-get install chromium).
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { launchBrowser, openConsole, SCREENS, type ConsoleSession } from "../test/browser/console-session.ts";
import { startFakeProvider, type FakeProvider } from "../src/fake-provider/server.ts";
import { startGatehouseProcess, type GatehouseProcess } from "../test/support/gatehouse-process.ts";

const ROOT = join(import.meta.dir, "..");
const OUT = join(ROOT, "screenshots");
const IN_README = ["overview", "request", "playground"];
/** Smaller than a usual window, because the README shows the images scaled down. */
const README_SCREEN = { name: "readme", width: 1120, height: 720 };

/** Duration of the traffic before the first screenshot, which fills the charts. */
const TRAFFIC_SECONDS = Number(process.env["TRAFFIC_SECONDS"] ?? 240);
const REQUESTS_PER_SECOND = 8;

const PLUGINS = [
  {
    name: "rate_limiter",
    stage: "pre_request",
    settings: {
      limits: { per_user: { limit: 350, window: "1m" }, global: { limit: 5000, window: "1m" } },
    },
  },
  {
    name: "code_sanitation",
    stage: "pre_request",
    priority: 2,
    settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
  },
];

interface Seeded {
  readonly gateway: string;
  readonly upstream: string;
  readonly rule: string;
  readonly keys: readonly string[];
}

async function seed(gatehouse: GatehouseProcess, fast: FakeProvider, flaky: FakeProvider): Promise<Seeded> {
  const create = async (path: string, body: unknown) => {
    const response = await gatehouse.api("POST", path, body);
    if (response.status !== 201) throw new Error(`${path}: ${JSON.stringify(response.body)}`);
    return response.body as { id: string; key: string };
  };
  const { id: gateway } = await create("/gateways", {
    name: "acme",
    subdomain: "acme",
    require_api_key: true,
    required_plugins: PLUGINS,
  });
  await create("/gateways", { name: "research" });
  const base = `/gateways/${gateway}`;
  const { id: upstream } = await create(`${base}/upstreams`, {
    name: "models",
    model_routing: "any",
    health_checks: { passive: true, threshold: 1000, interval: 30 },
    targets: [
      {
        provider: "openai",
        base_url: fast.url,
        weight: 5,
        default_model: "gpt-4.1",
        models: ["gpt-4.1", "gpt-4.1-mini"],
      },
      {
        provider: "mistral",
        base_url: flaky.url,
        weight: 2,
        default_model: "mistral-large-latest",
        models: ["mistral-large-latest"],
      },
    ],
  });
  const service = await create(`${base}/services`, {
    name: "chat",
    upstream_id: upstream,
    description: "Chat requests of all apps",
  });
  const rule = await create(`${base}/rules`, {
    name: "chat",
    service_id: service.id,
    path: "/v1/chat/completions",
    methods: ["POST"],
  });
  await create(`${base}/rules`, {
    service_id: service.id,
    path: "/teams/{team}/chat",
    methods: ["POST"],
    active: false,
  });
  const keys: string[] = [];
  for (const name of ["mobile app", "support desk", "batch jobs"])
    keys.push((await create("/iam/api-keys", { name, subject: gateway, policies: [rule.id] })).key);
  await gatehouse.api("PATCH", base, { prices: [{ model: "gpt-4.1", input: "1.80", output: "7.20" }] });
  await create(`${base}/budgets`, { name: "monthly spend", unit: "usd", amount: "250.00", period: "month" });
  await create("/iam/admin-tokens", { name: "deploy pipeline", role: "operator" });
  await create("/iam/admin-tokens", { name: "on-call dashboard", role: "viewer", gateways: [gateway] });
  return { gateway, upstream, rule: rule.id, keys };
}

/** Sends requests of several applications: streams, failovers, rejected requests, and clients that disconnect. */
async function sendTraffic(gatehouse: GatehouseProcess, { keys }: Seeded, seconds: number): Promise<void> {
  const requests: Promise<unknown>[] = [];
  for (let turn = 0; turn < seconds * REQUESTS_PER_SECOND; turn++) {
    const key =
      turn % 37 === 0 ? `gw_${"x".repeat(43)}` : (keys[turn % 5 === 0 ? 1 : turn % 11 === 0 ? 2 : 0] ?? "");
    const content =
      turn % 53 === 7
        ? "1' UNION SELECT password FROM users --"
        : "What is the weather like on the coast today?";
    const disconnect = turn % 71 === 0 ? AbortSignal.timeout(60) : null;
    requests.push(
      fetch(`${gatehouse.proxyUrl}/v1/chat/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-GW-API-Key": key },
        body: JSON.stringify({
          model: ["gpt-4.1", "gpt-4.1-mini", "mistral-large-latest"][turn % 3],
          messages: [{ role: "user", content }],
          stream: turn % 2 === 0,
        }),
        signal: disconnect,
      }).then(
        (response) => response.text().catch(() => undefined),
        () => undefined,
      ),
    );
    const load = 1 + 0.6 * Math.sin(turn / (REQUESTS_PER_SECOND * 4));
    await Bun.sleep(1000 / (REQUESTS_PER_SECOND * load));
  }
  await Promise.all(requests);
}

async function takeScreenshots(ui: ConsoleSession, seeded: Seeded, suffix: string): Promise<void> {
  const { page } = ui;
  const take = async (name: string) => {
    await page.waitForLoadState("networkidle", { timeout: 2000 }).catch(() => undefined);
    await page.screenshot({ path: join(OUT, `${name}${suffix}.png`) });
  };
  const open = async (path: string, name: string) => {
    await page.goto(`/console${path}`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.locator(".loading").first().waitFor({ state: "hidden" });
    await take(name);
  };
  const base = `/gateways/${seeded.gateway}`;
  await open(`${base}/overview`, "overview");
  await open(`${base}/requests`, "requests");
  await page.getByRole("row").filter({ hasText: "Failover" }).getByRole("button").first().click();
  await page.getByRole("dialog").getByText("Timing").waitFor();
  await take("request");
  await open(`${base}/usage`, "usage");
  await open("/prices", "prices");
  await open(`${base}/playground`, "playground");
  await ui.button("Create a key for one hour").click();
  await page.getByLabel("Message").fill("What does an AI gateway do?");
  await ui.button("Send").click();
  await page.locator(".chat-response").getByText("Done", { exact: true }).waitFor();
  await page.locator(".chat-response .stats").getByText("$").waitFor();
  await take("playground");
  await open(`${base}/explain`, "explain");
  await ui.button("Add header").click();
  await page.getByLabel("Header 1").fill("X-GW-API-Key");
  await page.getByLabel("Value 1").fill(seeded.keys[0] ?? "");
  await ui.button("Explain").click();
  await page.locator(".explanation").waitFor();
  await take("explain");
  for (const kind of ["upstreams", "services", "rules", "keys", "plugins", "blocks", "budgets", "routes"])
    await open(`${base}/${kind}`, kind);
  await open("/gateways", "gateways");
  await open(`${base}/upstreams/${seeded.upstream}`, "upstream");
  await open(`${base}/rules/${seeded.rule}`, "rule");
  await open(`${base}/plugins/0`, "plugin");
  await open("/history", "history");
  await open("/history/3", "revision");
  await open("/history/3/rollback", "rollback");
  await open("/administrators", "administrators");
  await open("/administrators/new", "administrator");
  await open("/audit", "audit");
  await open("/import-export", "import-export");
  await open("/start", "start");
}

const [browser, fast, flaky, gatehouse] = await Promise.all([
  launchBrowser(),
  startFakeProvider({ name: "openai" }),
  startFakeProvider({ name: "mistral" }),
  startGatehouseProcess(),
]);
const text =
  "A gateway gives applications one API for every model, with API keys, rate limits, load balancing, and failover.";
fast.behave({ chunkDelayMs: 12, delayMs: 60, text });
let turn = 0;
flaky.behave(() =>
  ++turn % 4 === 0 ? { status: 503, delayMs: 30 } : { chunkDelayMs: 20, delayMs: 90, text },
);
try {
  const seeded = await seed(gatehouse, fast, flaky);
  console.log(`Sending traffic for ${TRAFFIC_SECONDS} s…`);
  await sendTraffic(gatehouse, seeded, TRAFFIC_SECONDS);
  mkdirSync(OUT, { recursive: true });
  mkdirSync(join(ROOT, "docs/images"), { recursive: true });
  for (const screen of [README_SCREEN, ...SCREENS]) {
    for (const colorScheme of ["light", "dark"] as const) {
      if (screen === README_SCREEN && colorScheme === "dark") continue;
      const suffix = `-${screen.name}${colorScheme === "light" ? "" : "-dark"}`;
      const background = sendTraffic(gatehouse, seeded, 12);
      const ui = await openConsole(browser, gatehouse, screen, { colorScheme });
      await ui.page.screenshot({ path: join(OUT, `sign-in${suffix}.png`) });
      await ui.signIn();
      await takeScreenshots(ui, seeded, suffix);
      await ui.close();
      await background;
      console.log(`${screen.name}, ${colorScheme}: done`);
    }
  }
  for (const name of IN_README)
    copyFileSync(join(OUT, `${name}-readme.png`), join(ROOT, "docs/images", `console-${name}.png`));
} finally {
  await browser.close();
  await Promise.all([fast.stop(), flaky.stop(), gatehouse.stop()]);
}
