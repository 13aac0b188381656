// Virtual models: their list and form; and the fields of services and upstreams that the forms must keep.
import { expect, test } from "bun:test";
import type { GetSetupContext } from "./setup.ts";

export function testVirtualModels(context: GetSetupContext): void {
  const records = async (kind: string) => {
    const { gatehouse, gateway } = context();
    return (await gatehouse.api("GET", `/gateways/${gateway}/${kind}`)).body[kind];
  };
  const create = async (kind: string, body: object): Promise<string> => {
    const { gatehouse, gateway } = context();
    const response = await gatehouse.api("POST", `/gateways/${gateway}/${kind}`, body);
    expect(response.status).toBe(201);
    return response.body.id;
  };
  const open = async (path: string) => {
    const { ui, gateway } = context();
    await ui.page.goto(`/console/gateways/${gateway}/${path}`);
  };
  let upstream = "";
  let second = "";

  test("a virtual model is created, and its targets are put in order by keyboard", async () => {
    const { ui, healthy, gateway } = context();
    const { page } = ui;
    const target = { provider: "good", base_url: healthy.url, models: ["small", "large"] };
    upstream = await create("upstreams", { name: "pool", targets: [target] });
    second = await create("upstreams", { name: "spare pool", targets: [target] });
    await open("models");
    await page.getByText("No virtual models yet").waitFor();
    await ui.link("New virtual model").first().click();
    await ui.field("Name").fill("assistant");
    await ui.field("Aliases").fill("assistant-latest");
    await ui.field("Upstream").selectOption({ label: "pool" });
    await ui.field("Model").fill("small");
    await ui.button("Add target").click();
    await ui.field("Upstream").nth(1).selectOption({ label: "pool" });
    await ui.field("Model").nth(1).fill("small");
    await ui.button("Create virtual model").click();
    await page.getByText("is the same as targets[0]").first().waitFor();
    await ui.field("Model").nth(1).fill("large");
    await ui.field("Weight").nth(1).fill("3");
    await ui.field("Sticky").check();
    await ui.button("Move target 2 up").focus();
    await page.keyboard.press("Enter");
    expect(await ui.field("Model").first().inputValue()).toBe("large");
    await ui.field("A budget is used up").check();
    await ui.expectAccessible();
    await ui.button("Create virtual model").click();
    await ui.row("assistant-latest").waitFor();
    await ui.expectAccessible();
    expect(await records("models")).toMatchObject([
      {
        name: "assistant",
        aliases: ["assistant-latest"],
        gateway_id: gateway,
        targets: [
          { upstream, model: "large", weight: 3 },
          { upstream, model: "small", weight: 1 },
        ],
        strategy: "weighted",
        sticky: true,
        fallback: [],
        fallback_on: ["unavailable", "rate_limited", "context", "budget"],
        visible: true,
      },
    ]);
  });

  test("a virtual model is duplicated, edited, and deleted unless another falls back to it", async () => {
    const { ui } = context();
    const { page } = ui;
    await page.getByRole("link", { name: "Duplicate assistant" }).click();
    await ui.heading("New virtual model").waitFor();
    expect(await ui.field("Name").inputValue()).toBe("assistant copy");
    // Names are unique.
    expect(await ui.field("Aliases").inputValue()).toBe("");
    await ui.field("Name").fill("gpt-*");
    await ui.field("Strategy").selectOption("1");
    await ui.field("Upstream").nth(1).selectOption({ label: "spare pool" });
    await ui.field("Model").nth(1).fill("");
    await ui.button("Remove target 1").click();
    await ui.field("Fallback models").fill("asistant");
    await ui.field("Listed").uncheck();
    await ui.button("Create virtual model").click();
    await page.getByText('there is no virtual model "asistant"').first().waitFor();
    await ui.field("Fallback models").fill("assistant");
    await ui.button("Create virtual model").click();
    await ui.row("gpt-*").getByText("Hidden").waitFor();
    expect((await records("models"))[1]).toMatchObject({
      name: "gpt-*",
      targets: [{ upstream: second, model: null, weight: 1 }],
      strategy: "fallback",
      fallback: ["assistant"],
      visible: false,
    });
    await page.getByRole("checkbox", { name: "Select assistant", exact: true }).check();
    await ui.button("Delete").click();
    await ui.dialog().getByRole("button", { name: "Delete" }).click();
    await ui.dialog().getByText("assistant").first().waitFor();
    await ui.dialog().getByRole("button", { name: "Close" }).first().click();
    expect(await records("models")).toHaveLength(2);
    await page.getByRole("searchbox", { name: "Search virtual models" }).fill("gpt");
    await ui.row("assistant-latest").waitFor({ state: "detached" });
    expect(await ui.row("gpt-*").count()).toBe(1);
  });

  test("a canary is added, and the form shows why the gateway has switched it off", async () => {
    const { ui, gatehouse, gateway } = context();
    const { page } = ui;
    const [{ id }] = await records("models");
    await open(`models/${id}`);
    await ui.button("Add canary").click();
    await ui.field("Upstream").last().selectOption({ label: "pool" });
    await ui.field("Model").last().fill("small");
    await ui.field("Share").fill("0.2");
    await ui.button("Save").click();
    await page.getByRole("link", { name: "canary.target" }).waitFor();
    await ui.field("Upstream").last().selectOption({ label: "spare pool" });
    await ui.field("Assigned by").selectOption({ label: "API keys" });
    await ui.field("First byte ratio").fill("1.5");
    await ui.expectAccessible();
    await ui.button("Save").click();
    await ui.heading("Virtual models").waitFor();
    const [stored] = await records("models");
    expect(stored.canary).toEqual({
      target: { upstream: second, model: "small" },
      share: 0.2,
      by: "api_key",
      rollback_if: { error_ratio: 2, first_byte_ratio: 1.5, min_requests: 100 },
      rolled_back: null,
    });
    const rolled_back = { at: "2026-11-17T03:00:00.000Z", share: 0.2, reason: "It failed too often." };
    const canary = { ...stored.canary, share: 0, rolled_back };
    await gatehouse.api("PATCH", `/gateways/${gateway}/models/${id}`, { canary });
    await open(`models/${id}`);
    await page.getByText("Its share was 0.2. It failed too often.").waitFor();
    await ui.button("Remove canary").click();
    await ui.button("Save").click();
    await ui.heading("Virtual models").waitFor();
    expect((await records("models"))[0].canary).toBeNull();
  });

  test("the form of a service keeps which virtual models its rules use", async () => {
    const { ui } = context();
    const fields = { name: "anywhere", upstream_id: upstream, virtual_models: "any" };
    const id = await create("services", fields);
    await open(`services/${id}`);
    await ui.field("Description").fill("Uses all of them");
    await ui.button("Save").click();
    await ui.heading("Services").waitFor();
    expect((await records("services")).find((each: { id: string }) => each.id === id)).toMatchObject({
      ...fields,
      description: "Uses all of them",
    });
    await open(`services/${id}`);
    await ui.field("Virtual models").selectOption({ label: "Only their targets at this upstream" });
    await ui.button("Save").click();
    await ui.heading("Services").waitFor();
    expect((await records("services")).find((each: { id: string }) => each.id === id)).toMatchObject({
      virtual_models: "own",
    });
  });

  test("an upstream holds streams, hedges slow requests, and limits the time to the first content", async () => {
    const { ui } = context();
    await open(`upstreams/${upstream}`);
    await ui.page.getByText("Models, attempts, hedging, timeouts").click();
    await ui.button("Hold streams until their first content").click();
    await ui.field("Hold streams for").fill("900");
    await ui.button("Hedge slow requests").click();
    expect(await ui.field("Hedge after").inputValue()).toBe("p95");
    await ui.field("Hedge after").fill("p96");
    await ui.field("Hedge budget").fill("0.1");
    await ui.field("First content timeout").fill("8000");
    await ui.button("Save").click();
    await ui.page.getByRole("link", { name: "hedge.after" }).waitFor();
    await ui.field("Hedge after").fill("1200");
    await ui.expectAccessible();
    await ui.button("Save").click();
    await ui.heading("Upstreams").waitFor();
    const stored = (await records("upstreams")).find((each: { id: string }) => each.id === upstream);
    expect(stored).toMatchObject({
      commit: { max_ms: 900, max_bytes: 16_384 },
      hedge: { after: 1200, budget: 0.1 },
      timeouts: { first_content: 8000 },
    });
  });
}
