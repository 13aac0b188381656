// The lists of registered plugins and known providers, and the address of the data plane.
import { describe, expect, test } from "bun:test";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { allowedMethods, expectError, expectProblemsAt, useAdminApi } from "../support/admin-fixtures.ts";

const admin = useAdminApi();

describe("GET /plugins lists the registered plugins", () => {
  test("name, description, stages, settings_schema, and builtin of the built-in plugins", async () => {
    const response = await admin.api("GET", "/plugins");
    expect(response.status).toBe(200);
    expect(response.body).toMatchObject({ count: response.body.plugins.length, limit: 100, offset: 0 });
    for (const name of [
      "rate_limiter",
      "token_limiter",
      "code_sanitation",
      "pii_mask",
      "response_cache",
      "tool_policy",
      "prompt_guard",
    ]) {
      const plugin = response.body.plugins.find((each: { name: string }) => each.name === name);
      expect(plugin).toEqual({
        name,
        description: expect.stringMatching(/\S/),
        stages: expect.arrayContaining(["pre_request"]),
        settings_schema: expect.objectContaining({ type: "object" }),
        default_mode: name === "prompt_guard" ? "shadow" : "enforce",
        builtin: true,
      });
    }
  });

  test("settings_schema is a JSON Schema with the fields of the specification", async () => {
    const { plugins } = (await admin.api("GET", "/plugins")).body;
    const schemaOf = (name: string) =>
      plugins.find((each: { name: string }) => each.name === name).settings_schema;
    expect(Object.keys(schemaOf("rate_limiter").properties)).toEqual(
      expect.arrayContaining(["limits", "actions"]),
    );
    expect(schemaOf("code_sanitation").required.toSorted()).toEqual([
      "action",
      "content_to_check",
      "languages",
    ]);
  });

  test("only GET is supported", async () => {
    const response = await admin.api("POST", "/plugins", {});
    expectError(response, 405, "method_not_allowed");
    expect(allowedMethods(response)).toEqual(["GET", "HEAD"]);
  });
});

describe("GET /providers lists the known providers", () => {
  const NAMES =
    "openai anthropic azure google mistral groq deepseek openrouter together fireworks xai cohere perplexity bedrock ollama vllm";

  test("16 providers with base_url, format, and default_path", async () => {
    const response = await admin.api("GET", "/providers");
    expect(response.status).toBe(200);
    expect(response.body.count).toBe(16);
    expect(response.body.providers.map((each: { name: string }) => each.name)).toEqual(NAMES.split(" "));
    for (const provider of response.body.providers) {
      expect(Object.keys(provider)).toEqual([
        ...["name", "title", "group", "base_url", "base_url_example", "format", "default_path", "formats"],
        ...["operations", "credential_types", "key_header"],
      ]);
      expect(provider.title).not.toBe(provider.name);
      expect(provider.base_url_example === null).toBe(provider.base_url !== null);
      expect(provider.formats).toContain(provider.format);
      expect(provider.operations.length).toBeGreaterThan(0);
      expect(provider.format).toBe(provider.name === "anthropic" ? "anthropic" : "openai");
      expect(provider.default_path).toStartWith("/");
    }
  });

  test("azure, bedrock, ollama, and vllm require base_url; the others have one", async () => {
    const { providers } = (await admin.api("GET", "/providers")).body;
    const withoutAddress = providers
      .filter((each: { base_url: unknown }) => each.base_url === null)
      .map((each: { name: string }) => each.name);
    expect(withoutAddress).toEqual(["azure", "bedrock", "ollama", "vllm"]);
    for (const { name, base_url } of providers) {
      if (base_url !== null) expect(base_url).toStartWith("https://");
      const upstream = { name: "u", targets: [{ provider: name }] };
      const response = await admin.api("POST", `/gateways/${admin.chain.gateway}/upstreams`, upstream);
      if (base_url === null) expectProblemsAt(response, "targets[0].base_url");
      else expect(response.status).toBe(201);
      const addressed = { name: "u", targets: [{ provider: name, base_url: "http://127.0.0.1:9" }] };
      expect((await admin.api("POST", `/gateways/${admin.chain.gateway}/upstreams`, addressed)).status).toBe(
        201,
      );
    }
  });

  test("has pages like every list", async () => {
    const page = await admin.api("GET", "/providers?limit=2&offset=15");
    expect(page.body).toMatchObject({ providers: [{ name: "vllm" }], count: 16, limit: 2, offset: 15 });
  });
});

describe("GET /server has the address of the data plane", () => {
  test("the port, without PUBLIC_URL", async () => {
    const { body } = await admin.api("GET", "/server");
    const proxy_port = Number(new URL(admin.gatehouse.proxyUrl).port);
    expect(body).toEqual({ public_url: null, proxy_port, base_domain: null });
  });

  test("PUBLIC_URL without a slash at the end, and BASE_DOMAIN; no port on a node without a data plane", async () => {
    const env = { PUBLIC_URL: "https://ai.example.com/llm/", BASE_DOMAIN: "ai.example.com" };
    const node = await startGatehouseProcess({ env, args: ["--role", "admin"] });
    try {
      const { body } = await node.api("GET", "/server");
      expect(body).toEqual({
        public_url: "https://ai.example.com/llm",
        proxy_port: null,
        base_domain: "ai.example.com",
      });
    } finally {
      await node.stop();
    }
  });
});
