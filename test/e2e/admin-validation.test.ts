// Validation of whole requests: several problems at once, plugin settings, reserved paths, and references.
import { describe, expect, test } from "bun:test";
import {
  CODE_SANITATION,
  create,
  expectError,
  expectProblemsAt,
  MISSING_ID,
  onlyMessage,
  RESOURCES,
  useAdminApi,
} from "../support/admin-fixtures.ts";

const admin = useAdminApi();

describe("all problems are reported", () => {
  test("with the paths of nested fields", async () => {
    const response = await admin.api("POST", `/gateways/${admin.chain.gateway}/upstreams`, {
      targets: [
        { provider: "openai", weight: "heavy" },
        { provider: "openai", wieght: 1 },
      ],
      max_attempts: 0,
    });
    expectError(response, 400, "validation_failed");
    expect(response.body.details.map((detail: { path: string }) => detail.path).toSorted()).toEqual([
      "max_attempts",
      "name",
      "targets[0].weight",
      "targets[1].wieght",
    ]);
    expect(response.body.error).toMatch(/and 3 more/);
  });

  test("in the settings of two plugins", async () => {
    const response = await admin.api("POST", "/gateways", {
      name: "two problems",
      required_plugins: [
        {
          name: "rate_limiter",
          stage: "pre_request",
          settings: { limits: { global: { limit: 1, window: "1x" } } },
        },
        {
          name: "code_sanitation",
          stage: "pre_request",
          settings: { ...CODE_SANITATION.settings, action: "x" },
        },
      ],
    });
    expectProblemsAt(
      response,
      "required_plugins[0].settings.limits.global.window",
      "required_plugins[1].settings.action",
    );
  });

  test("in the missing settings of built-in plugins", async () => {
    const response = await admin.api("POST", "/gateways", {
      name: "no settings",
      required_plugins: [
        { name: "rate_limiter", stage: "pre_request" },
        { name: "code_sanitation", stage: "pre_request" },
      ],
    });
    expectProblemsAt(
      response,
      "required_plugins[0].settings.limits",
      "required_plugins[1].settings.languages",
      "required_plugins[1].settings.content_to_check",
      "required_plugins[1].settings.action",
    );
  });

  test("in the settings of a disabled plugin", async () => {
    const plugin = { name: "rate_limiter", stage: "pre_request", enabled: false, settings: { limits: 1 } };
    const response = await admin.api("POST", "/gateways", { name: "off", required_plugins: [plugin] });
    expectProblemsAt(response, "required_plugins[0].settings.limits");
  });

  test("in the name of an unregistered plugin, with the nearest registered one", async () => {
    const plugin = { name: "rate_limitter", stage: "pre_request" };
    const response = await admin.api("POST", "/gateways", { name: "x", required_plugins: [plugin] });
    expectProblemsAt(response, "required_plugins[0].name");
    expect(onlyMessage(response)).toContain('"rate_limiter"');
  });
});

describe("rules must not use reserved prefixes", () => {
  const RESERVED = ["/api", "/console", "/metrics", "/healthz", "/readyz"];

  test.each(RESERVED)("%s and paths below it", async (prefix) => {
    for (const pattern of [prefix, `${prefix}/`, `${prefix}/v1/chat`, `${prefix}/*`, `${prefix}/{x}`]) {
      const body = { service_id: admin.chain.service, path: pattern, methods: ["POST"] };
      const response = await admin.api("POST", `/gateways/${admin.chain.gateway}/rules`, body);
      expectProblemsAt(response, "path");
      expect(onlyMessage(response)).toContain(prefix);
    }
    const path = `/gateways/${admin.chain.gateway}/rules/${admin.chain.rule}`;
    expectProblemsAt(await admin.api("PATCH", path, { path: prefix }), "path");
  });
});

describe("a reference to a missing record, or to one of another gateway, returns 400 with its id", () => {
  test.each([
    ["services", "upstream_id", (): string => admin.other.upstream],
    ["services", "upstream_id", (): string => MISSING_ID],
    ["rules", "service_id", (): string => admin.other.service],
    ["rules", "service_id", (): string => MISSING_ID],
  ] as const)("%s.%s on create, PUT, and PATCH", async (plural, field, value) => {
    const resource = RESOURCES.find((each) => each.plural === plural)!;
    const collection = resource.collection(admin.chain);
    const minimal = resource.minimal(admin.chain);
    const body = { ...minimal, [field]: value() };
    const record = await create(admin.gatehouse, collection, minimal);
    for (const [method, path] of [
      ["POST", collection],
      ["PUT", `${collection}/${record.id}`],
      ["PATCH", `${collection}/${record.id}`],
    ] as const) {
      const response = await admin.api(method, path, body);
      expectProblemsAt(response, field);
      expect(onlyMessage(response)).toContain(value());
    }
    const after = await admin.api("GET", `${collection}/${record.id}`);
    expect(after.body[field]).toBe(record[field]);
  });
});
