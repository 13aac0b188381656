// What gatehouse apply, diff, and rollback print about changes: fields that differ from their defaults, and changed credentials.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create } from "../support/admin-fixtures.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { runCommand, settingsOf } from "../support/run-command.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);

const gatehouse = await useGatehouseProcess();
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

/** Creates a gateway with an upstream that has this credential, and returns a function that changes the credential. */
async function upstreamWith(name: string, secret: string): Promise<(secret: string) => Promise<unknown>> {
  const target = (value: string) => ({
    provider: "openai",
    credentials: { header_name: "Authorization", header_value: `Bearer ${value}` },
  });
  const { id } = await create(gatehouse, "/gateways", { name });
  const upstreams = `/gateways/${id}/upstreams`;
  const upstream = await create(gatehouse, upstreams, { name: "models", targets: [target(secret)] });
  const [{ id: targetId }] = upstream.targets;
  return (value) =>
    gatehouse.api("PATCH", `${upstreams}/${upstream.id}`, { targets: [{ id: targetId, ...target(value) }] });
}

const newestRevision = async (): Promise<number> =>
  (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision;

const HEADER_VALUE = "targets[0].credentials.header_value";

test("diff compares the credentials of both revisions, whatever they were in between", async () => {
  const rotate = await upstreamWith("several rotations", "sk-aaaaaaaa-1234");
  const first = await newestRevision();
  await rotate("sk-bbbbbbbb-5678");
  const second = await newestRevision();
  await rotate("sk-cccccccc-1234");
  const third = await newestRevision();
  await rotate("sk-aaaaaaaa-1234");
  expect(await print(["diff", String(first), String(second)])).toContain(
    `    ${HEADER_VALUE}: changed ("Bea***1234" → "Bea***5678")\n`,
  );
  // Another secret with the same mask, and one with another mask in between.
  expect(await print(["diff", String(first), String(third)])).toContain(`    ${HEADER_VALUE}: changed\n`);
  // The same secret again.
  expect(await print(["diff", String(first)])).toStartWith("nothing differs");
});

test("diff prints the fields of new records that differ from their defaults", async () => {
  const first = await newestRevision();
  const { id } = await create(gatehouse, "/gateways", { name: "sparse", log_bodies: true });
  expect(await print(["diff", String(first)])).toBe(
    `changes between revision ${first} and revision ${first + 1}\n` +
      `+ gateway sparse (${id})\n    log_bodies: true\n`,
  );
});

test("rollback --dry-run prints what would change, and changes nothing", async () => {
  const rotate = await upstreamWith("rolled back", "sk-aaaaaaaa-1234");
  const [gateway] = (await gatehouse.api("GET", "/gateways?name=rolled%20back")).body.gateways;
  const key = await create(gatehouse, "/iam/api-keys", { name: "gone", subject: gateway.id });
  const number = await newestRevision();
  await rotate("sk-bbbbbbbb-1234");
  await gatehouse.api("PATCH", `/gateways/${gateway.id}`, { log_bodies: true });
  await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`);
  const added = await create(gatehouse, "/gateways", { name: "added since" });
  const newest = await newestRevision();
  const tried = await print(["rollback", String(number), "--dry-run"]);
  expect(tried.split("\n")).toEqual([
    `changes by a rollback to revision ${number}`,
    `~ gateway rolled back (${gateway.id})`,
    "    log_bodies: true → false",
    expect.stringMatching(/^~ upstream models \(.+\)$/),
    `    ${HEADER_VALUE}: changed`,
    `- gateway added since (${added.id})`,
    `not undone: API key "gone" (${key.id}) was revoked`,
    "Dry run: nothing was changed.",
    "",
  ]);
  expect(tried).not.toMatch(/aaaaaaaa|bbbbbbbb/);
  expect(await newestRevision()).toBe(newest);
  expect(JSON.parse(await print(["rollback", String(number), "--dry-run", "--json"]))).toMatchObject({
    revision: newest,
    not_undone: [{ api_key_id: key.id }],
    records: expect.arrayContaining([
      expect.objectContaining({ action: "delete", resource: "gateway", id: added.id, name: "added since" }),
    ]),
    left_out: 0,
  });
  await print(["rollback", String(number)]);
  expect(await print(["rollback", String(number), "--dry-run"])).toBe(
    `nothing to restore: revision ${newest + 1} has the configuration of revision ${number}\n` +
      `not undone: API key "gone" (${key.id}) was revoked\n`,
  );
});
