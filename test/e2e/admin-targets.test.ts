// Addresses of targets: forbidden ones, and providers without a built-in address.
import { describe, expect, test } from "bun:test";
import { create, expectProblemsAt, onlyMessage, useAdminApi } from "../support/admin-fixtures.ts";

const admin = useAdminApi();

describe("link-local and metadata addresses are rejected", () => {
  test.each([
    "http://169.254.169.254",
    "http://169.254.169.254/latest/meta-data",
    "http://169.254.0.1:8080",
    "https://169.254.255.255",
    "http://169.254.169.254.",
    "http://2852039166",
    "http://0xa9fea9fe",
    "http://0251.0376.0251.0376",
    "http://[fe80::1]",
    "http://[febf::1]:80",
    "http://[::ffff:169.254.169.254]",
    "http://[::ffff:a9fe:a9fe]",
    "http://[0:0:0:0:0:ffff:a9fe:a9fe]",
    "http://[fd00:ec2::254]",
    "http://100.100.100.200",
    "http://metadata.google.internal",
    "http://METADATA.google.internal.",
    "http://metadata",
  ])("%s", async (base_url) => {
    const body = { name: "u", targets: [{ provider: "openai" }, { provider: "openai", base_url }] };
    const response = await admin.api("POST", `/gateways/${admin.chain.gateway}/upstreams`, body);
    expectProblemsAt(response, "targets[1].base_url");
    expect(onlyMessage(response)).toMatch(/link-local or metadata/);
    const path = `/gateways/${admin.chain.gateway}/upstreams/${admin.chain.upstream}`;
    expectProblemsAt(await admin.api("PATCH", path, { targets: body.targets }), "targets[1].base_url");
  });
});

describe("an unknown provider", () => {
  test("requires a base_url", async () => {
    const collection = `/gateways/${admin.chain.gateway}/upstreams`;
    const unaddressed = await admin.api("POST", collection, {
      name: "u",
      targets: [{ provider: "custom" }],
    });
    expectProblemsAt(unaddressed, "targets[0].base_url");
    expect(onlyMessage(unaddressed)).toContain("custom");
    const own = { provider: "custom", base_url: "http://127.0.0.1:9", format: "anthropic" };
    const created = await create(admin.gatehouse, collection, { name: "u", targets: [own] });
    expect(created.targets[0]).toMatchObject(own);
  });
});
