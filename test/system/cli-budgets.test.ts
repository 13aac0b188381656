// The commands for money: gatehouse budgets, gatehouse reconcile, and gatehouse rollback of one gateway.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "../support/admin-fixtures.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { postChat } from "../support/plugin-fixtures.ts";
import { CHAT, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { totalAfter } from "../support/usage-fixtures.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);
const run = (...args: readonly string[]) => runCommand(args, settingsOf(gatehouse));

/** Runs a command that must succeed and returns what it printed. */
async function print(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

const printJson = async (...args: readonly string[]) => JSON.parse(await print(...args, "--json"));

const route = await seedRoute(gatehouse, {
  gateway: { name: "money", prices: [{ model: "gpt-fake", input: "1", output: "10" }] },
  upstream: { targets: [targetAt(provider)] },
});
const at = ["--gateway", "money"];

describe("budgets", () => {
  test("are created, listed, changed and deleted", async () => {
    const fields = ["--unit=usd", "--amount=25.00", "--period=day", "--warn-at=0.5", "--warn-at=0.9"];
    const created = await printJson(
      "budgets",
      "create",
      ...at,
      "--name",
      "daily",
      ...fields,
      "--model=gpt-*",
    );
    expect(created).toMatchObject({ amount: "25.00", period: "day", warn_at: [0.5, 0.9], models: ["gpt-*"] });
    expect(await print("budgets", "list", ...at)).toMatch(/daily +\$25\.00 +day +gateway +enforce/);
    const label = ["--scope=label", "--label=team", "--each"];
    expect(await printJson("budgets", "update", "daily", ...at, "--amount=30", ...label)).toMatchObject({
      ...{ id: created.id, amount: "30", scope: "label", label: "team", each: true },
    });
    expect(await print("budgets", "list", ...at)).toContain("label team each");
    expect(await print("budgets", "delete", created.id, ...at)).toContain('deleted budget "daily"');
    expect(await print("budgets", "list", ...at)).toBe("gateway money has no budget\n");
  });

  test("show their state, and can be reset and adjusted", async () => {
    await print("budgets", "create", ...at, "--name=state", "--unit=tokens", "--amount=1000");
    await print("budgets", "adjust", "state", ...at, "--amount=40");
    expect(await print("budgets", "show", "state", ...at)).toContain(
      "spent 40 tokens, reserved 0 tokens, remaining 960 tokens",
    );
    const plan = "this would lose budget_spent_tokens 40";
    expectOneLine(await run("budgets", "adjust", "state", ...at, "--amount=-10"), 1, plan, "--yes");
    expect(await print("budgets", "adjust", "state", ...at, "--amount=-10", "--dry-run")).toBe(`${plan}\n`);
    expect(await printJson("budgets", "reset", "state", ...at, "--dry-run")).toMatchObject({
      losses: { budget_spent_tokens: 40 },
    });
    expect(await printJson("budgets", "adjust", "state", ...at, "--amount=-10", "--yes")).toMatchObject({
      spent: 30,
    });
    expectOneLine(await run("budgets", "reset", "state", ...at), 1, "budget_spent_tokens 30", "--yes");
    expect(await printJson("budgets", "reset", "state", ...at, "--yes")).toMatchObject({ spent: 0 });
    // Nothing is lost any more.
    expect(await printJson("budgets", "reset", "state", ...at)).toMatchObject({ spent: 0 });
    await print("budgets", "delete", "state", ...at);
  });

  test.each([
    [["budgets"], 2],
    [["budgets", "destroy"], 2],
    [["budgets", "show"], 2],
    [["budgets", "list", "extra"], 2],
    [["budgets", "create", "--name=x"], 2],
    [["budgets", "update", "nothing", ...at], 2],
    [["budgets", "create", ...at, "--name=x", "--unit=usd", "--amount=1", "--value=a", "--each"], 2],
    [["budgets", "create", ...at, "--name=x", "--unit=usd", "--amount=1", "--warn-at=much"], 2],
    [["budgets", "show", "unknown", ...at], 1],
    [["budgets", "create", ...at, "--name=x", "--unit=euro", "--amount=1"], 1],
  ])("%j is an error in one line", async (args, code) => {
    expectOneLine(await run(...args), code);
  });
});

describe("rollback", () => {
  test("of one gateway leaves the others as they are, and restores a deleted one", async () => {
    const one = await create(gatehouse, "/gateways", { name: "rolled back" });
    const other = await create(gatehouse, "/gateways", { name: "kept" });
    const { revision } = (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0];
    for (const { id } of [one, other])
      await gatehouse.api("PATCH", `/gateways/${id}`, { require_api_key: true });
    const plan = await printJson("rollback", String(revision), "--gateway=rolled back", "--dry-run");
    expect(plan.records).toHaveLength(1);
    await print("rollback", String(revision), "--gateway=rolled back");
    const isRequired = async (id: string) =>
      (await gatehouse.api("GET", `/gateways/${id}`)).body.require_api_key;
    expect([await isRequired(one.id), await isRequired(other.id)]).toEqual([false, true]);
    await gatehouse.api("DELETE", `/gateways/${one.id}`);
    await print("rollback", String(revision), "--gateway", one.id);
    expect(await isRequired(one.id)).toBe(false);
    expectOneLine(await run("rollback", String(revision), "--gateway=unknown"), 1);
  });
});

describe("reconcile", () => {
  test("prints the differences per day and model; its exit code says whether there are any", async () => {
    provider.behave({ usage: { input: 100, output: 20 } });
    for (const model of ["gpt-fake", "gpt-fake", "gpt-other"])
      await (await postChat(gatehouse, route, { body: { ...CHAT, model } })).text();
    await totalAfter(gatehouse, route, 3);
    const directory = temporaryDirectory();
    const file = join(directory, "usage.csv");
    const today = new Date().toISOString().slice(0, 10);
    const reconcile = async (rows: string, ...flags: string[]) => {
      writeFileSync(file, `\uFEFFdate,model,input_tokens,output_tokens,num_model_requests\r\n${rows}`);
      return run("reconcile", file, ...at, ...flags);
    };
    const equal = `${today},gpt-fake-2026-01-01,"200",40,2\r\n${today},gpt-other,100,20,1\r\n`;
    expect(await reconcile(equal)).toMatchObject({ code: 0, stderr: "" });
    const different = equal.replace('"200"', "250");
    const { code, stdout } = await reconcile(different);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`${today} +gpt-fake +input tokens +200 +250 +-50 +-20\\.00 %`));
    expect(stdout).toContain("1 of 2 days and models differ");
    expect((await reconcile(different, "--tolerance=20")).code).toBe(0);
    expect((await reconcile(different, "--tolerance=19.9")).code).toBe(1);
    expect((await reconcile(equal, "--exact-models")).code).toBe(1);
    expect((await reconcile(equal, "--provider=someone")).code).toBe(1);
    expect(JSON.parse((await reconcile(different, "--json")).stdout)).toMatchObject({
      ...{ format: "openai", equal: false },
      total: { equal: false, input: { ours: 300, theirs: 350, difference: -50 } },
    });
    const broken = await reconcile(`${equal}${today},gpt-fake,x,1,1\n`);
    expect(broken).toMatchObject({ code: 2, stdout: "" });
    expect(broken.stderr).toContain('line 4: "x" is no number of tokens or requests');
    writeFileSync(file, `\uFEFF${equal}`, "utf16le");
    expect((await run("reconcile", file)).stderr).toContain("not in UTF-8; save it as CSV in UTF-8");
    expectOneLine(await run("reconcile", join(directory, "missing.csv")), 2);
    expectOneLine(await run("reconcile", file, "--tolerance=much"), 2);
    expectOneLine(await run("reconcile", file, "--format=excel"), 2);
    expectOneLine(await run("reconcile"), 2);
    rmSync(directory, { recursive: true });
  });

  test("leaves out what kept responses served, and costs that are unknown", async () => {
    const kept = await seedRoute(gatehouse, {
      gateway: {
        name: "cached",
        prices: [{ model: "gpt-fake", input: "1", output: "10" }],
        required_plugins: [
          { name: "response_cache", stage: "pre_request", settings: { isolation: "gateway" } },
        ],
      },
      upstream: { targets: [targetAt(provider)] },
    });
    provider.behave({ usage: { input: 100, output: 20 } });
    for (const model of ["gpt-fake", "gpt-fake", "gpt-unpriced"])
      await (await postChat(gatehouse, kept, { body: { ...CHAT, model } })).text();
    await totalAfter(gatehouse, kept, 3);
    const directory = temporaryDirectory();
    const file = join(directory, "usage.csv");
    const today = new Date().toISOString().slice(0, 10);
    writeFileSync(
      file,
      `day,model,input_tokens,output_tokens,requests,cost\n${today},gpt-fake,100,20,1,0.0003\n` +
        `${today},gpt-unpriced,100,20,1,0\n`,
    );
    const { code, stdout } = await run("reconcile", file, "--gateway", "cached");
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`${today} +gpt-unpriced +cost +- +0\\.0000 +- +-`));
    expect(stdout).toContain("1 of 2 days and models differ");
    expect(stdout).toContain("requests without a known cost, which are in no cost above: 1");
    const json = await run("reconcile", file, "--gateway", "cached", "--json");
    expect(JSON.parse(json.stdout)).toMatchObject({
      unpriced_requests: 1,
      rows: [
        { model: "gpt-fake", equal: true, requests: { ours: 1 } },
        { model: "gpt-unpriced", equal: false, cost: { ours: null, difference: null } },
      ],
    });
    rmSync(directory, { recursive: true });
  });
});
