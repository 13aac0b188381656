// gatehouse export, apply, and check, run as processes.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { create, createChain } from "../support/admin-fixtures.ts";
import {
  PROGRAM,
  startGatehouseProcess,
  temporaryDirectory,
  TEST_SECRET,
  type GatehouseProcess,
} from "../support/gatehouse-process.ts";

setDefaultTimeout(60_000);

interface CommandResult {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

async function run(
  args: readonly string[],
  env: Record<string, string> = {},
  input = "",
): Promise<CommandResult> {
  const child = Bun.spawn([PROGRAM, ...args], {
    cwd: directory,
    env: { PATH: process.env["PATH"], ...env },
    stdin: new Blob([input]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, out, err };
}

const directory = temporaryDirectory();
const file = join(directory, "gatehouse.yaml");
afterAll(() => rmSync(directory, { recursive: true, force: true }));

describe("export and apply", () => {
  let one: GatehouseProcess;
  let two: GatehouseProcess;
  beforeAll(async () => {
    one = await startGatehouseProcess();
    two = await startGatehouseProcess();
  });
  afterAll(async () => {
    await one.stop();
    await two.stop();
  });
  const at = ({ adminUrl }: GatehouseProcess) => ({
    GATEHOUSE_URL: adminUrl,
    SERVER_SECRET_KEY: TEST_SECRET,
  });

  test("an export applied to an empty gateway gives an equal configuration with working keys", async () => {
    const chain = await createChain(one, "acme");
    const key = await create(one, "/iam/api-keys", {
      name: "mobile",
      subject: chain.gateway,
      policies: [chain.rule],
    });
    const document = await run(["export"], at(one));
    expect({ code: document.code, err: document.err }).toEqual({ code: 0, err: "" });

    // The export has a reference instead of the credential: without the variable, apply fails.
    const unset = await run(["apply", "-"], at(two), document.out);
    expect(unset.code).toBe(1);
    expect(unset.err).toContain("set ACME_MODELS_OPENAI_KEY");
    expect((await two.api("GET", "/gateways")).body.count).toBe(0);

    const env = { ...at(two), ACME_MODELS_OPENAI_KEY: "Bearer sk-abcdefghijklmnop" };
    const tried = await run(["apply", "-", "--dry-run"], env, document.out);
    expect(tried.code).toBe(0);
    expect(tried.out).toContain("+ upstream acme / models");
    expect(tried.out).toContain("nothing was changed");
    expect(tried.out).not.toContain("\u001B");
    expect((await two.api("GET", "/gateways")).body.count).toBe(0);

    const applied = await run(["apply", "-"], env, document.out);
    expect({ code: applied.code, err: applied.err }).toEqual({ code: 0, err: "" });
    expect(applied.out).toContain("Applied as revision 1.");
    expect((await run(["export"], at(two))).out).toBe(document.out);
    expect((await run(["export", "--gateway", "acme"], at(two))).out).toBe(document.out);
    const call = await fetch(`${two.proxyUrl}/v1/models`, { headers: { "X-GW-API-Key": key.key } });
    expect(call.status).toBe(200);
    const [revision] = (await two.api("GET", "/revisions")).body.revisions;
    expect(revision).toMatchObject({ action: "apply", subject: expect.stringMatching(/^cli:/) });

    const again = await run(["apply", "-", "--prune"], at(two), document.out);
    expect(again.out).toBe("Nothing to change: all 5 resources match the document (revision 1).\n");
  });

  test("a change is shown as a diff; --json prints the response; a new key is printed", async () => {
    await Bun.write(file, "gateways:\n  - name: ${GATEWAY:-diff}\n    api_keys: [{name: k}]\n");
    const created = await run(["apply", file], at(one));
    expect(created.out).toMatch(/\+ api key diff \/ k\n {4}key \(shown only once\): gw_[\w-]{43}\n/);
    await Bun.write(file, '{"gateways": [{"name": "diff", "require_api_key": true}]}');
    const args = ["apply", file, "--prune", "--url", `${one.adminUrl}/`, `--token=${one.token}`];
    const changed = await run(args);
    expect(changed.out).toStartWith(
      "~ gateway diff\n    require_api_key: false → true\n1 to change, 0 unchanged.",
    );
    const json = JSON.parse((await run([...args, "--json"])).out) as { changes: unknown[] };
    expect(json.changes).toHaveLength(1);
    const exported = JSON.parse((await run(["export", "--json"], at(one))).out) as {
      gateways: { name: string }[];
    };
    expect(exported.gateways.map(({ name }) => name)).toContain("diff");
  });

  test("a reference is a number or a boolean where the field is one", async () => {
    await Bun.write(
      file,
      `gateways:
  - name: \${NAME}
    log_bodies: \${LOG:-true}
    required_plugins:
      - name: rate_limiter
        stage: pre_request
        settings:
          limits:
            global:
              limit: \${LIMIT}
              window: 1m
    upstreams:
      - name: models
        targets:
          - provider: openai
            weight: \${WEIGHT}
`,
    );
    const env = { ...at(one), NAME: "42", LIMIT: "60", WEIGHT: "7" };
    const applied = await run(["apply", file], env);
    expect({ code: applied.code, err: applied.err }).toEqual({ code: 0, err: "" });
    const [gateway] = (await one.api("GET", "/gateways?name=42")).body.gateways;
    expect(gateway).toMatchObject({
      name: "42",
      log_bodies: true,
      required_plugins: [{ settings: { limits: { global: { limit: 60 } } } }],
    });
    const [upstream] = (await one.api("GET", `/gateways/${gateway.id}/upstreams`)).body.upstreams;
    expect(upstream.targets[0].weight).toBe(7);
    const wrong = { ...env, LOG: "maybe", LIMIT: "many", WEIGHT: "1.5" };
    const lines = [
      `${file}:3:5: gateways[0].log_bodies: must be true or false, but \${LOG} is "maybe"`,
      `${file}:10:15: gateways[0].required_plugins[0].settings.limits.global.limit: must be a whole number, but \${LIMIT} is "many"`,
      `${file}:16:13: gateways[0].upstreams[0].targets[0].weight: must be a whole number, but \${WEIGHT} is "1.5"`,
      "",
    ];
    const checked = await run(["check", file], wrong);
    expect({ code: checked.code, err: checked.err.split("\n") }).toEqual({ code: 1, err: lines });
    const rejected = await run(["apply", file], { ...at(one), ...wrong });
    expect(rejected.err.split("\n").slice(0, 3)).toEqual(lines.slice(0, 3));
    const unset = await run(["check", file]);
    expect(unset.code).toBe(0);
    const document = { gateways: [{ name: "direct", log_bodies: "\${LOG:-true}" }] };
    expect((await one.api("POST", "/apply", document)).status).toBe(200);
  });

  test("--prune-gateways lists the gateways to delete, and deletes them only with --yes", async () => {
    const own = await startGatehouseProcess();
    try {
      for (const name of ["kept", "first", "second"]) await create(own, "/gateways", { name });
      const count = async () => (await own.api("GET", "/gateways")).body.count as number;
      const apply = (...flags: string[]) =>
        run(["apply", "-", ...flags], at(own), "gateways: [{name: kept, log_bodies: true}]");
      const plan = "- gateway first\n- gateway second\n~ gateway kept\n    log_bodies: false → true\n";
      const tried = await apply("--prune-gateways", "--dry-run");
      expect({ code: tried.code, out: tried.out }).toEqual({
        code: 0,
        out: `${plan}3 to change, 0 unchanged. Dry run: nothing was changed.\n`,
      });
      const refused = await apply("--prune-gateways");
      expect(refused).toEqual({
        code: 1,
        out: tried.out,
        err: "gatehouse: 2 gateways would be deleted with their records and usage: first, second; give --yes to delete them\n",
      });
      expect(await count()).toBe(3);
      const applied = await apply("--prune-gateways", "--yes");
      expect({ code: applied.code, out: applied.out }).toEqual({
        code: 0,
        out: `${plan}3 to change, 0 unchanged. Applied as revision 4.\n`,
      });
      expect(await count()).toBe(1);
      // Without a gateway to delete, --yes is not needed.
      expect((await apply("--prune-gateways")).out).toStartWith("Nothing to change");
      const alone = await apply("--yes");
      expect({ code: alone.code, err: alone.err }).toEqual({
        code: 2,
        err: "gatehouse: --yes has an effect only with --prune-gateways; remove it\n",
      });
    } finally {
      await own.stop();
    }
  });

  test("prints one line per problem, with its path and the fix", async () => {
    await Bun.write(file, "gateways:\n  - name: ${NOT_SET}\n    subdomain: ${NOR_THIS}\n");
    const missing = await run(["apply", file], at(one));
    expect(missing.code).toBe(1);
    expect(missing.err).toBe(
      `${file}:2:5: gateways[0].name: refers to \${NOT_SET}, which is not set\n` +
        `${file}:3:5: gateways[0].subdomain: refers to \${NOR_THIS}, which is not set\n` +
        "gatehouse: nothing was changed\n",
    );
    await Bun.write(file, "gateways:\n  - nam: x\n");
    const rejected = await run(["apply", file], at(one));
    expect(rejected.code).toBe(1);
    expect(rejected.err).toContain(`${file}:2:5: gateways[0].nam: unknown field; did you mean "name"?`);
    const wrongSecret = await run(["export"], { ...at(one), SERVER_SECRET_KEY: "another secret" });
    expect({ code: wrongSecret.code, err: wrongSecret.err }).toEqual({
      code: 1,
      err: expect.stringContaining("did not accept the token; give --token, or the SERVER_SECRET_KEY"),
    });
    const unreachable = await run(["export"], { ...at(one), GATEHOUSE_URL: "http://127.0.0.1:9" });
    expect(unreachable.code).toBe(1);
    expect(unreachable.err).toContain("no gateway is reachable at http://127.0.0.1:9");
    for (const args of [
      ["apply"],
      ["apply", "a", "b"],
      ["apply", "nowhere.yaml"],
      ["export", "--yaml"],
      ["export", "--url", "x"],
    ])
      expect({ args, code: (await run(args, at(one))).code }).toEqual({ args, code: 2 });
    const noToken = await run(["export"], { GATEHOUSE_URL: one.adminUrl, DATA_DIR: directory });
    expect(noToken.code).toBe(2);
    expect(noToken.err).toContain("--token");
  });

  test("the secret that a server generated is read from its DATA_DIR", async () => {
    const own = await startGatehouseProcess({ env: { SERVER_SECRET_KEY: "" } });
    try {
      const env = { GATEHOUSE_URL: own.adminUrl, DATA_DIR: own.dataDir };
      expect((await run(["export"], env)).out).toContain("gateways: []");
    } finally {
      await own.stop();
    }
  });
});

describe("check", () => {
  test("a valid document passes; what only the server can decide is a warning", async () => {
    await Bun.write(
      file,
      `gateways:
  - name: acme
    required_plugins:
      - {name: rate_limiter, stage: pre_request, settings: {limits: {global: {limit: 5, window: 1m}}}}
      - {name: of_my_own, stage: post_response}
    upstreams:
      - name: models
        targets: [{provider: openai, base_url: "\${BASE_URL}", headers: {X-Literal: "$\${x}"}}]
    services: [{name: chat, upstream: models}]
    rules: [{service: chat, path: /v1/*, methods: [POST]}]
    api_keys: [{name: k, policies: [/v1/*]}]
`,
    );
    const { code, out, err } = await run(["check", file]);
    expect({ code, out }).toEqual({ code: 0, out: `${file}: no problems in 1 gateway\n` });
    expect(err.split("\n")).toEqual([
      `${file}:8:38: warning: gateways[0].upstreams[0].targets[0].base_url: refers to \${BASE_URL}, which is not set here`,
      `${file}:5:10: warning: gateways[0].required_plugins[1].name: unknown plugin "of_my_own" unless it is custom`,
      "",
    ]);
    const set = await run(["check", file], { BASE_URL: "ftp://x" });
    expect(set.code).toBe(1);
    expect(set.err).toContain("base_url: must start with http:// or https://");
  });

  test("an invalid document fails with one line per problem, or as JSON", async () => {
    await Bun.write(
      file,
      `gateways:
  - name: acme
    required_plugins: [{name: rate_limiter, stage: pre_request, settings: {limits: {global: {limit: 5, window: 1x}}}}]
    upstreams:
      - {name: models, targets: [{provider: of-my-own}]}
      - {name: models, targets: [{provider: openai}]}
    services: [{name: chat, upstream: model}]
`,
    );
    const { code, out, err } = await run(["check", file]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err.trimEnd().split("\n")).toEqual([
      `${file}:6:10: gateways[0].upstreams[1].name: is the same as gateways[0].upstreams[0].name; these must differ`,
      `${file}:7:29: gateways[0].services[0].upstream: there is no upstream "model" in this gateway of the document; did you mean "models"?`,
      `${file}:3:104: gateways[0].required_plugins[0].settings.limits.global.window: must be a number and a unit (s, m, h or d), such as 30s or 5m`,
      `${file}:5:34: gateways[0].upstreams[0].targets[0].base_url: the provider "of-my-own" is not known and needs a base_url`,
    ]);
    const json = await run(["check", file, "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({
      valid: false,
      warnings: [],
      faults: [{ path: "gateways[0].upstreams[1].name", line: 6, column: 10 }, {}, {}, {}],
    });
    const broken = await run(["check", "-"], {}, "gateways: [\n");
    expect(broken.code).toBe(1);
    expect(broken.err).toStartWith("standard input: The document is not valid YAML");
    const twice = "gateways:\n  - name: a\n    rules: []\n    name: b\n";
    const line =
      "standard input:4:5: gateways[0].name: is given twice, in line 2 and in line 4; remove one of them\n";
    expect((await run(["check", "-"], {}, twice)).err).toBe(line);
    expect((await run(["apply", "-"], {}, twice)).err).toBe(`${line}gatehouse: nothing was changed\n`);
    const odd = await run(["check", "-"], {}, 'gateways: [{name: x, "a\\e[2J": 1}]');
    expect(odd.err).not.toContain("\u001B");
  });

  test("reports field errors together with references to records that do not exist", async () => {
    await Bun.write(
      file,
      `gateways:
  - name: acme
    subdomain: "!"
    upstreams:
      - {name: models, targets: []}
    services:
      - {name: chat, upstream: modles}
    rules:
      - {service: chta, path: /v1/*, methods: [POST], priority: x}
    api_keys:
      - {name: k, policies: [/v2/*]}
`,
    );
    const { code, err } = await run(["check", file]);
    expect(code).toBe(1);
    expect(err.split("\n").map((line) => line.replace(`${file}:`, "").split(": ").slice(0, 2))).toEqual([
      ["3:5", "gateways[0].subdomain"],
      ["5:24", "gateways[0].upstreams[0].targets"],
      ["9:55", "gateways[0].rules[0].priority"],
      ["7:22", "gateways[0].services[0].upstream"],
      ["9:10", "gateways[0].rules[0].service"],
      ["11:30", "gateways[0].api_keys[0].policies[0]"],
      [""],
    ]);
  });
});
