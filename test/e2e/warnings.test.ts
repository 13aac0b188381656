// Warnings about configurations that are legal but probably wrong: in responses of the Admin API, and in the commands.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { callRaw, create, expectError } from "../support/admin-fixtures.ts";
import { PROGRAM, temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);

const gatehouse = await useGatehouse();
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

const COLLAPSED =
  "all requests that match /v1/* are sent to /v1/messages of anthropic, whatever their path; leave out the path of the target, or give the rule an exact path";

/** Creates a gateway with a rule /v1/* whose target has a full path. Returns the responses. */
async function createWrong(name: string) {
  const gateway = await create(gatehouse, "/gateways", { name });
  const at = `/gateways/${gateway.id}`;
  const targets = [{ provider: "openai" }, { provider: "anthropic", path: "/v1/messages" }];
  const upstream = await create(gatehouse, `${at}/upstreams`, { name: "models", targets });
  const service = await create(gatehouse, `${at}/services`, { name: "chat", upstream_id: upstream.id });
  const sent = { service_id: service.id, path: "/v1/*", methods: ["*"] };
  const rule = await create(gatehouse, `${at}/rules`, sent);
  return { gateway, at, upstream, service, rule };
}

test("responses to writes warn about the written record, also if another record is a part of the problem", async () => {
  const { at, upstream, service, rule } = await createWrong("warned");
  expect(upstream).not.toHaveProperty("warnings");
  expect(service).not.toHaveProperty("warnings");
  expect(rule.warnings).toEqual([{ path: "path", message: COLLAPSED }]);
  const rename = (path: string) => gatehouse.api("PATCH", path, { name: "renamed" });
  const changedUpstream = await rename(`${at}/upstreams/${upstream.id}`);
  expect(changedUpstream.status).toBe(200);
  expect(changedUpstream.body.warnings).toEqual([{ path: "targets[1].path", message: COLLAPSED }]);
  const changedService = await rename(`${at}/services/${service.id}`);
  expect(changedService.body.warnings).toEqual([{ path: "upstream_id", message: COLLAPSED }]);
  // The configuration is right as soon as the path is left out.
  const fixed = await gatehouse.api("PATCH", `${at}/upstreams/${upstream.id}`, {
    targets: [{ provider: "openai" }, { provider: "anthropic" }],
  });
  expect(fixed.status).toBe(200);
  expect(fixed.body).not.toHaveProperty("warnings");
});

test("plugins whose mode has no effect are reported with their gateway, in documents, too", async () => {
  const plugins = [
    { name: "response_cache", stage: "pre_request", mode: "shadow" },
    { name: "pii_mask", stage: "pre_request", sample: 0.5, settings: {} },
  ];
  const { warnings, id } = await create(gatehouse, "/gateways", {
    name: "plugins",
    required_plugins: plugins,
  });
  const expected = [
    {
      path: "required_plugins[0].mode",
      message: "response_cache keeps and counts nothing in shadow mode; set mode to enforce",
    },
    {
      path: "required_plugins[1].sample",
      message: "has no effect, because the plugin runs on all requests with the mode enforce",
    },
  ];
  expect(warnings).toEqual(expected);
  const changed = await gatehouse.api("PATCH", `/gateways/${id}`, { required_plugins: [] });
  expect(changed.body).not.toHaveProperty("warnings");
  const document = { gateways: [{ name: "documented plugins", required_plugins: plugins }] };
  const inDocument = expected.map(({ path, message }) => ({ path: `gateways[0].${path}`, message }));
  const applied = await gatehouse.api("POST", "/apply", document);
  expect(applied.body.warnings).toEqual(inDocument);
  const file = join(directory, "plugins.json");
  await Bun.write(file, JSON.stringify(document));
  const checked = await run(["check", file, "--json"], "");
  expect(JSON.parse(checked.out)).toMatchObject({ valid: true, warnings: inDocument });
});

test("a record can be sent back as a write or a read returned it, and reads have no warnings", async () => {
  const { at, rule } = await createWrong("sent back");
  const path = `${at}/rules/${rule.id}`;
  const written = await gatehouse.api("PUT", path, rule);
  expect(written.status).toBe(200);
  expect(written.body).toEqual({ ...rule, updated_at: expect.any(String) });
  const read = await gatehouse.api("GET", path);
  expect(read.body).not.toHaveProperty("warnings");
  expect((await gatehouse.api("PUT", path, read.body)).body.warnings).toEqual(rule.warnings);
  const patched = await gatehouse.api("PATCH", path, { ...rule, warnings: [] });
  expect(patched.body.warnings).toEqual(rule.warnings);
  const listed = await gatehouse.api("GET", `${at}/rules`);
  expect(listed.body.rules[0]).not.toHaveProperty("warnings");
});

test("a new record must not have warnings, as with other fields that the server sets", async () => {
  const { at, service } = await createWrong("new");
  const sent = { service_id: service.id, path: "/other", methods: ["POST"], warnings: [] };
  expectError(await gatehouse.api("POST", `${at}/rules`, sent), 400, "validation_failed");
  expectError(
    await gatehouse.api("POST", "/gateways", { name: "x", warnings: [] }),
    400,
    "validation_failed",
  );
});

test("API keys that can reach no rule are reported when they are created, changed, and rotated", async () => {
  const { at, gateway, rule } = await createWrong("keys");
  const key = await create(gatehouse, "/iam/api-keys", {
    name: "k",
    subject: gateway.id,
    policies: [rule.id],
  });
  expect(key).not.toHaveProperty("warnings");
  expect((await gatehouse.api("PATCH", `${at}/rules/${rule.id}`, { active: false })).status).toBe(200);
  const expected = [
    {
      path: "policies",
      message: "the key can reach no rule: none of these rules is active and matches requests",
    },
  ];
  const changed = await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { name: "renamed" });
  expect(changed.body.warnings).toEqual(expected);
  const rotated = await gatehouse.api("POST", `/iam/api-keys/${key.id}/rotate`);
  expect(rotated.body).toMatchObject({ key: expect.stringMatching(/^gw_/), warnings: expected });
  expect((await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, changed.body)).status).toBe(200);
});

const DOCUMENT = `
gateways:
  - name: documented
    upstreams:
      - name: models
        targets:
          - { provider: openai, models: [gpt-4o] }
          - provider: anthropic
            path: /v1/messages
            models: [claude-sonnet-4]
    services: [{ name: chat, upstream: models }]
    rules:
      - { name: short, service: chat, path: "/chat", methods: [POST] }
      - service: chat
        path: /v1/chat/completions
        methods: [POST]
    api_keys: [{ name: app, models: [gpt-4o, gpt-9] }]
`;
const FORMAT = {
  path: "gateways[0].rules[1].response_format",
  message:
    'clients of /v1/chat/completions expect the format openai and get responses in the format anthropic from anthropic; leave out the path of the target, or set response_format to "request"',
};
const MODEL = {
  path: "gateways[0].api_keys[0].models[1]",
  message: 'no target that the key can reach serves "gpt-9"',
};

test("apply and its dry run report warnings at their places in the document", async () => {
  const document = Bun.YAML.parse(DOCUMENT);
  const apply = async (query: string, body: unknown = document) =>
    (await gatehouse.api("POST", `/apply${query}`, body)).body;
  expect((await apply("?dry_run=true")).warnings).toEqual([FORMAT, MODEL]);
  expect((await apply("")).warnings).toEqual([FORMAT, MODEL]);
  const again = await apply("?prune=true");
  expect(again.changes.every(({ action }: { action: string }) => action === "none")).toBe(true);
  expect(again.warnings).toEqual([FORMAT, MODEL]);
  // Records that are not in the document, but in the gateway, are considered.
  const another = {
    name: "documented",
    upstreams: [{ name: "other", targets: [{ provider: "openai" }] }],
    services: [{ name: "other", upstream: "other" }],
    rules: [{ name: "late", service: "other", path: "/chat", methods: ["POST"] }],
  };
  const late = (await apply("?dry_run=true", { gateways: [another] })).warnings;
  expect(late).toEqual([
    {
      path: "gateways[0].rules[0].path",
      message: 'no request reaches this rule: "short" matches the same requests and comes first',
    },
  ]);
  expect((await apply("?dry_run=true&prune=true", { gateways: [another] })).warnings).toEqual([]);
});

async function run(args: readonly string[], input: string) {
  const child = Bun.spawn([PROGRAM, ...args], {
    cwd: directory,
    env: {
      PATH: process.env["PATH"],
      GATEHOUSE_URL: gatehouse.adminUrl,
      SERVER_SECRET_KEY: TEST_SECRET,
    },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

test("gatehouse check and apply print warnings with their positions and exit with 0", async () => {
  const file = join(directory, "gatehouse.yaml");
  await Bun.write(file, DOCUMENT);
  const lines = [
    `${file}:14:9: warning: ${FORMAT.path}: ${FORMAT.message}`,
    `${file}:17:46: warning: ${MODEL.path}: ${MODEL.message}`,
    "",
  ].join("\n");
  const checked = await run(["check", file], "");
  expect(checked).toEqual({ code: 0, out: `${file}: no problems in 1 gateway\n`, err: lines });
  const json = await run(["check", file, "--json"], "");
  expect(json.code).toBe(0);
  expect(JSON.parse(json.out)).toMatchObject({ valid: true, faults: [], warnings: [FORMAT, MODEL] });
  for (const flags of [["--dry-run"], []]) {
    const applied = await run(["apply", file, ...flags], "");
    expect(applied).toMatchObject({ code: 0, err: lines });
  }
  const printed = await run(["apply", file, "--json"], "");
  expect(printed).toMatchObject({ code: 0, err: "" });
  expect(JSON.parse(printed.out)).toMatchObject({ warnings: [FORMAT, MODEL] });
});

test("the OpenAPI document has the warnings", async () => {
  const { body } = await callRaw(gatehouse, "GET", "/api/openapi.json");
  const { schemas } = body.components;
  for (const name of ["Upstream", "Service", "Rule", "ApiKey", "ApiKeyWithKey", "Applied"])
    expect(schemas[name].properties.warnings.items.properties).toHaveProperty("message");
  expect(schemas.RuleInput.properties).not.toHaveProperty("warnings");
});
