// Playground: a conversation with tools and two models, stop, errors with the request id, and code for SDKs and agents.
import { expect, test } from "bun:test";
import { leaveGateway, openPage, type GetContext } from "../test-context.ts";

type Context = ReturnType<GetContext>;

async function seed({ gatehouse, healthy }: Context): Promise<string> {
  const create = async (path: string, body: unknown) => (await gatehouse.api("POST", path, body)).body.id;
  const prices = [{ model: "talk-1", per_request: "0.02" }];
  const gateway = await create("/gateways", {
    name: "talks",
    subdomain: "talks",
    prices,
    require_api_key: true,
  });
  const targets = [{ provider: "good", base_url: healthy.url, models: ["talk-1", "talk-2"] }];
  const upstream_id = await create(`/gateways/${gateway}/upstreams`, {
    ...{ name: "only", targets, model_routing: "require" },
  });
  const service_id = await create(`/gateways/${gateway}/services`, { name: "only", upstream_id });
  await create(`/gateways/${gateway}/rules`, { service_id, path: "/talk/v1/*", methods: ["*"] });
  return gateway;
}

interface SentBody {
  readonly model: string;
  readonly temperature?: number;
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

export function testPlayground(context: GetContext): void {
  test("a conversation has turns, parameters, tools, and two models with cost and time of each", async () => {
    const { ui, healthy } = context();
    const { page } = ui;
    const gateway = await seed(context());
    const sent = () =>
      healthy.requests.slice(-2).map(({ body }): SentBody => JSON.parse(new TextDecoder().decode(body)));
    await openPage(context(), `/gateways/${gateway}/playground`, "Playground");
    await ui.button("Create a key for one hour").click();
    await ui.field("Model").fill("talk-1");
    await ui.field("System prompt").fill("Be brief.");
    await page.getByText("Parameters", { exact: true }).click();
    await ui.field("Temperature").fill("0.5");
    await page.getByText("Tools", { exact: true }).first().click();
    await ui.field("Tools").fill("[{");
    await page.getByText(/^Invalid JSON/).waitFor();
    expect(await ui.button("Send").isDisabled()).toBe(true);
    await ui.field("Tools").fill('[{"type": "function", "function": {"name": "a b"}}]');
    await page.getByText('Tool 1: "function.name" must have').waitFor();
    await ui.expectAccessible();
    await ui.button("Insert example").click();

    healthy.behave({
      turns: [
        { calls: [{ name: "get_weather", arguments: { city: "Oslo" } }] },
        { text: "It rains in Oslo." },
      ],
    });
    await ui.field("Message").fill("What is the weather in Oslo?");
    await page.keyboard.press("Control+Enter");
    const answers = page.locator(".chat-response");
    await answers.getByText('"city": "Oslo"').waitFor();
    await ui.field("Result of get_weather").fill("rain, 9 °C");
    await ui.expectAccessible();
    await ui.button("Send results").click();
    await answers.nth(1).getByText("It rains in Oslo.").waitFor();
    const [, last] = sent();
    expect(last).toMatchObject({ model: "talk-1", temperature: 0.5 });
    expect(last?.messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "tool"]);
    expect(last?.messages.at(-1)?.content).toBe("rain, 9 °C");

    healthy.behave({ text: "Hello from the fake provider, word by word.", chunkDelayMs: 5 });
    await page.getByLabel("Compare two models").check();
    await ui.field("Second model").fill("talk-2");
    await ui.field("Message").fill("And tomorrow?");
    await ui.button("Send").click();
    const left = page.getByRole("region", { name: "Response 1" });
    const right = page.getByRole("region", { name: "Response 2" });
    await left.locator(".stats").getByText("$0.02").waitFor();
    await right.locator(".stats").getByText("No price for this model").waitFor();
    for (const side of [left, right]) {
      await side.getByText("Hello from the fake provider, word by word.").waitFor();
      await side.getByRole("term").filter({ hasText: "First token" }).waitFor();
      await side.getByText(/^\d+ in, \d+ out$/).waitFor();
    }
    expect(
      sent()
        .map(({ model }) => model)
        .sort(),
    ).toEqual(["talk-1", "talk-2"]);
    await ui.expectAccessible();
    await ui.button("New conversation").click();
    await page.getByText("No messages yet").waitFor();
  });

  test("a response can be stopped, and an error names its request", async () => {
    const { ui, healthy } = context();
    const { page } = ui;
    healthy.behave({ text: "word ".repeat(2000), chunkDelayMs: 20 });
    await page.getByLabel("Compare two models").uncheck();
    await ui.field("Message").fill("Count.");
    await ui.button("Send").click();
    const answer = page.locator(".chat-response");
    await answer.getByText("word word").waitFor();
    await ui.button("Stop").click();
    await answer.getByText("Stopped", { exact: true }).waitFor();
    healthy.behave({ text: "Hello from the fake provider, word by word.", chunkDelayMs: 5 });
    await ui.button("New conversation").click();
    await ui.field("Model").fill("unknown-model");
    await ui.field("Message").fill("Hello?");
    await ui.button("Send").click();
    await answer.getByText("Failed", { exact: true }).waitFor();
    const shown = await answer.getByText(/^Request id: /).innerText();
    await ui.link("Open request").click();
    await ui.dialog().getByText(shown.replace("Request id: ", "")).first().waitFor();
  });

  test("code for SDKs and coding agents uses the address of the proxy", async () => {
    const { ui, gatehouse } = context();
    const { page } = ui;
    const gateways = (await gatehouse.api("GET", "/gateways?name=talks")).body.gateways;
    const gateway = gateways[0].id;
    await openPage(context(), `/gateways/${gateway}/playground`, "Playground");
    // Without PUBLIC_URL, the port of the data plane is reported by the Admin API.
    const address = ui.field("Address of the proxy");
    await page.getByText("Derived from the address of the console.").waitFor();
    expect(await address.inputValue()).toBe(gatehouse.proxyUrl);
    await address.fill("https://ai.example.com/");
    await ui.field("Model").fill("talk-1");
    for (const [client, text] of [
      ["curl", "https://ai.example.com/talk/v1/chat/completions"],
      ["OpenAI SDK, Python", 'base_url="https://ai.example.com/talk/v1"'],
      ["OpenAI SDK, TypeScript", 'baseURL: "https://ai.example.com/talk/v1"'],
      ["Anthropic SDK, Python", 'base_url="https://ai.example.com/talk"'],
      ["Anthropic SDK, TypeScript", 'baseURL: "https://ai.example.com/talk"'],
      ["Claude Code", '"ANTHROPIC_BASE_URL": "https://ai.example.com/talk"'],
      ["Codex", 'base_url = "https://ai.example.com/talk/v1"'],
    ] as const) {
      await ui.field("Client").selectOption(client);
      await page.getByLabel(`Code for ${client}`, { exact: true }).getByText(text).waitFor();
    }
    await ui.expectAccessible();
    // An empty field returns to the address of the server.
    await address.fill("");
    await ui.field("Client").focus();
    expect(await address.inputValue()).toBe(gatehouse.proxyUrl);
    // With BASE_DOMAIN, the gateway has a host of its own.
    await page.route("**/api/v1/server", (route) =>
      route.fulfill({ json: { public_url: null, proxy_port: 8081, base_domain: "ai.example.com" } }),
    );
    await page.reload();
    await page.getByText("The host is the subdomain of this gateway.").waitFor();
    expect(await address.inputValue()).toBe("http://talks.ai.example.com:8081");
    await page.unroute("**/api/v1/server");
    await leaveGateway(context(), gateway);
  });
}
