// What gatehouse apply, diff, and rollback print about changes: fields that differ from their defaults, and changed credentials.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);

const gatehouse = await useGatehouse();
const directory = temporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const file = join(directory, "gatehouse.yaml");

async function print(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, { ...settingsOf(gatehouse), ...env });
  expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: "" });
  return stdout;
}

const UPSTREAM = `
    upstreams:
      - name: models
        algorithm: least-connections
        targets:
          - provider: openai
            weight: 5
            credentials: {header_name: Authorization, header_value: "Bearer \${KEY}"}`;

test("apply prints only the fields of a new record that differ from their defaults", async () => {
  await Bun.write(
    file,
    `gateways:
  - name: plan
    require_api_key: true
    log_bodies: false
    required_plugins:
      - {name: rate_limiter, stage: pre_request, priority: 1, settings: {limits: {global: {limit: 5, window: 1m}}}}${UPSTREAM}
    services: [{name: chat, upstream: models}]
    rules: [{service: chat, path: /plan, methods: [POST, GET], priority: 0}]
    api_keys: [{name: mobile}]
`,
  );
  const tried = await print(["apply", file, "--dry-run"], { KEY: "sk-abcdefghijklmnop" });
  expect(tried.split("\n")).toEqual([
    "+ gateway plan",
    '    required_plugins[0].name: "rate_limiter"',
    '    required_plugins[0].stage: "pre_request"',
    "    required_plugins[0].settings.limits.global.limit: 5",
    '    required_plugins[0].settings.limits.global.window: "1m"',
    "    require_api_key: true",
    "+ upstream plan / models",
    '    algorithm: "least-connections"',
    '    targets[0].provider: "openai"',
    "    targets[0].weight: 5",
    '    targets[0].credentials.header_name: "Authorization"',
    '    targets[0].credentials.header_value: "Bea***mnop"',
    "+ service plan / chat",
    '    upstream: "models"',
    "+ rule plan / GET,POST /plan",
    '    path: "/plan"',
    '    methods: ["POST","GET"]',
    '    service: "chat"',
    "+ api key plan / mobile",
    "5 to change, 0 unchanged. Dry run: nothing was changed.",
    "",
  ]);
});

test("apply prints only the fields of a changed record that change, and a new target without its defaults", async () => {
  const KEY = "sk-abcdefghijklmnop";
  await Bun.write(file, `gateways:\n  - name: changed${UPSTREAM}\n`);
  await print(["apply", file], { KEY });
  const second = "\n          - {provider: anthropic, weight: 2}\n";
  await Bun.write(file, `gateways:\n  - name: changed${UPSTREAM.replace("weight: 5", "weight: 6")}${second}`);
  expect((await print(["apply", file, "--dry-run"], { KEY })).split("\n")).toEqual([
    "~ upstream changed / models",
    "    targets[0].weight: 5 → 6",
    '    targets[1]: null → {"provider":"anthropic","weight":2}',
    "1 to change, 1 unchanged. Dry run: nothing was changed.",
    "",
  ]);
});

test("apply shows a rotated credential as changed, and not an unchanged one", async () => {
  await Bun.write(file, `gateways:\n  - name: rotated${UPSTREAM}\n`);
  await print(["apply", file], { KEY: "sk-aaaaaaaa-1234" });
  expect(await print(["apply", file, "--dry-run"], { KEY: "sk-aaaaaaaa-1234" })).toStartWith(
    "Nothing to change",
  );
  const same = await print(["apply", file, "--dry-run"], { KEY: "sk-bbbbbbbb-1234" });
  expect(same).toStartWith(
    "~ upstream rotated / models\n    targets[0].credentials.header_value: changed\n1 to change",
  );
  const other = await print(["apply", file, "--dry-run"], { KEY: "sk-bbbbbbbb-5678" });
  expect(other).toContain(
    '\n    targets[0].credentials.header_value: changed ("Bea***1234" → "Bea***5678")\n',
  );
});
