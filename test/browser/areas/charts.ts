// Overview of one gateway: charts at low traffic, truthful figures, and target states.
import { expect, test } from "bun:test";
import { waitUntil } from "../../support/waiting.ts";
import { leaveGateway, openPage, type GetContext } from "../test-context.ts";

type Context = ReturnType<GetContext>;

interface Seeded {
  readonly gateway: string;
  readonly path: string;
}

/** Creates a gateway of its own with one failing target, so that the areas before and after do not matter. */
async function seedFailing({ gatehouse, failing }: Context): Promise<Seeded> {
  const create = async (path: string, body: unknown): Promise<string> =>
    (await gatehouse.api("POST", path, body)).body.id;
  const gateway = await create("/gateways", { name: "charts", subdomain: "charts" });
  const target = { provider: "down", base_url: failing.url, default_model: "m" };
  const upstream = await create(`/gateways/${gateway}/upstreams`, { name: "only", targets: [target] });
  const idle = [{ ...target, provider: "idle" }];
  await create(`/gateways/${gateway}/upstreams`, { name: "unused", targets: idle });
  const service = await create(`/gateways/${gateway}/services`, { name: "only", upstream_id: upstream });
  await create(`/gateways/${gateway}/rules`, { service_id: service, path: "/charts", methods: ["POST"] });
  return { gateway, path: "/charts" };
}

async function sendTo({ gatehouse }: Context, { path }: Seeded): Promise<number> {
  const response = await fetch(gatehouse.proxyUrl + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", Host: "charts.localhost" },
    body: JSON.stringify({ messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}

const NO_TRAFFIC = {
  requests: 0,
  errors: 0,
  p50_ms: null,
  p99_ms: null,
  first_byte_p50_ms: null,
  first_token_p50_ms: null,
  input_tokens: 0,
  output_tokens: 0,
  cost: 0,
  unpriced_requests: 0,
  refused: {},
  failed: {},
};

/** Five minutes with requests in two seconds that are not neighbors. */
function quietTraffic() {
  const now = Math.floor(Date.now() / 1000);
  const busy = { ...NO_TRAFFIC, requests: 6, p50_ms: 200, p99_ms: 210, unpriced_requests: 6 };
  const points = Array.from({ length: 300 }, (_, index) => ({
    time: new Date((now - 299 + index) * 1000).toISOString(),
    ...(index === 100 ? busy : index === 200 ? { ...busy, p99_ms: 9000 } : NO_TRAFFIC),
  }));
  const total = { ...NO_TRAFFIC, requests: 12, p50_ms: 201, p99_ms: 4321, unpriced_requests: 12 };
  return { points, total, step_seconds: 1 };
}

/** Number of pixels in each half of a chart that are neither gray nor transparent: lines and points of its series. */
const COLORED_PIXELS = `(title) => {
  const figure = [...document.querySelectorAll("figure")].find((each) => each.textContent.startsWith(title));
  const canvas = figure?.querySelector("canvas");
  if (!canvas) return [0, 0];
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  const counts = [0, 0];
  for (let at = 0; at < data.length; at += 4)
    if (data[at + 3] > 128 && Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 70)
      counts[at < data.length / 2 ? 0 : 1]++;
  return counts;
}`;

export function testCharts(context: GetContext): void {
  let seeded: Seeded;

  test("the overview draws isolated values, and its figures do not mislead", async () => {
    const { ui } = context();
    const { page } = ui;
    seeded = await seedFailing(context());
    await page.route(/\/api\/v1\/traffic\?/, (route) => route.fulfill({ json: quietTraffic() }));
    await openPage(context(), `/gateways/${seeded.gateway}/overview`, "Overview");
    await page.getByRole("img", { name: /^Latency\. .*highest 9\.00 s/ }).waitFor();
    // The outlier is in the upper half, which is what stretches the axis; the other values are in the lower half.
    await waitUntil(async () => {
      const [upper = 0, lower = 0] = await page.evaluate<number[]>(`(${COLORED_PIXELS})("Latency")`);
      return upper > 10 && lower > 20;
    });
    const tile = (name: string) =>
      page.locator(".tile").filter({ has: page.locator(`dt:text-is("${name}")`) });
    // The percentile of the period, not that of its worst second.
    expect(await tile("p99").textContent()).toContain("4.32 s");
    expect(await tile("Cost").textContent()).toContain("Unpriced");
    expect(await tile("Cost").textContent()).not.toContain("$0.00");
    expect(await tile("Cost").textContent()).toContain("12 requests");
    // Each row has the same number of tiles, at any width.
    for (const width of [1440, 1120, 800, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const tops = await page.evaluate<number[]>(
        `[...document.querySelectorAll(".traffic .tile")].map((tile) => tile.offsetTop)`,
      );
      const rows = Map.groupBy(tops, (top) => top);
      expect(new Set([...rows.values()].map((row) => row.length)).size).toBe(1);
    }
    await page.setViewportSize(ui.screen);
    await page.unroute(/\/api\/v1\/traffic\?/);
  });

  test("the overview shows a target that fails every request as failing, and an unused one as unknown", async () => {
    const { ui } = context();
    for (let count = 0; count < 4; count++) expect(await sendTo(context(), seeded)).toBe(503);
    const targets = ui.page.getByRole("table", { name: "Targets" });
    await targets.getByRole("row").filter({ hasText: "down" }).getByText("Failing").waitFor();
    await targets.getByRole("row").filter({ hasText: "down" }).getByText("4", { exact: true }).waitFor();
    await ui.row("idle").getByText("Unknown").waitFor();
    await ui.expectAccessible();
  });

  test("the overview leads with what is wrong, for periods up to seven days, and opens the requests behind it", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const problems = page.getByRole("table", { name: "Problems" });
    await problems.getByRole("row").filter({ hasText: "Target down" }).getByText("Failing").waitFor();
    for (const period of ["1 h", "24 h", "7 days"]) {
      await ui.button(period).click();
      await page.getByRole("img", { name: /^Requests per (minute|15 minutes|hour)\. .*highest 4/ }).waitFor();
      await problems
        .getByRole("row")
        .filter({ hasText: "status_503" })
        .getByText("4", { exact: true })
        .waitFor();
    }
    await ui.expectAccessible();
    const { body } = await gatehouse.api("GET", `/traffic?range=7d&gateway_id=${seeded.gateway}`);
    expect(body).toMatchObject({ step_seconds: 3600, total: { requests: 4, errors: 4 } });
    await page.getByLabel("Time in the charts").focus();
    await page.keyboard.press("End");
    await page.keyboard.press("Enter");
    await ui.heading("Request log").waitFor();
    expect(new URL(page.url()).searchParams.has("until")).toBe(true);
    await ui.row("/charts").nth(3).waitFor();
    await page.goBack();
    await problems.getByRole("link", { name: "Requests with status_503" }).click();
    await ui.heading("Request log").waitFor();
    expect(new URL(page.url()).searchParams.get("status")).toBe("503");
    await ui.row("/charts").nth(3).waitFor();
    await leaveGateway(context(), seeded.gateway);
  });
}
