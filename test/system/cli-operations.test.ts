// The commands for a running gateway: its history, blocks, usage, and requests, and the completion of the shell.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { create } from "../support/admin-fixtures.ts";
import {
  PROGRAM,
  startGatehouseProcess,
  temporaryDirectory,
  type RunningGatehouse,
} from "../support/gatehouse-process.ts";
import { limiter, postChat } from "../support/plugin-fixtures.ts";
import { CHAT, seedKey, seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useFakeProvider, useGatehouseProcess } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";
import { freePort } from "../support/free-port.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const [gatehouse, provider] = await Promise.all([useGatehouseProcess(), useFakeProvider()]);
const run = (args: readonly string[], env = settingsOf(gatehouse)) => runCommand(args, env);

/** Runs a command that must succeed and returns what it printed. */
async function print(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout;
}

const printJson = async (...args: readonly string[]) => JSON.parse(await print(...args, "--json"));

const newestRevision = async (): Promise<number> =>
  (await gatehouse.api("GET", "/revisions?limit=1")).body.revisions[0].revision;

describe("revisions", () => {
  test("lists the changes, newest first, all or of one gateway", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "listed" });
    await gatehouse.api("PATCH", `/gateways/${id}`, { require_api_key: true });
    await create(gatehouse, "/gateways", { name: "another" });
    const lines = (await print("revisions")).split("\n");
    expect(lines[0]).toMatch(/^REVISION +TIME +BY +ACTION +RESOURCE +NAME$/);
    expect(lines[1]).toMatch(/^\d+ +\d{4}-\S+Z +\S+ +create +gateway +another$/);
    const ofGateway = await printJson("revisions", "list", "--gateway", "listed");
    expect(ofGateway).toMatchObject([
      { action: "update", name: "listed", resource_id: id },
      { action: "create", name: "listed", resource_id: id },
    ]);
    expect(await printJson("revisions", "--limit=1")).toHaveLength(1);
  });

  test("shows one with its changed fields", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "shown" });
    await gatehouse.api("PATCH", `/gateways/${id}`, { require_api_key: true });
    const number = await newestRevision();
    const text = await print("revisions", "show", String(number));
    expect(text).toStartWith(`revision ${number}\n`);
    expect(text).toContain(`update gateway shown ${id}\n`);
    expect(text).toContain("    require_api_key: false → true\n");
    expect(await printJson("revisions", "show", String(number))).toMatchObject({
      revision: number,
      diff: [{ path: "require_api_key", before: false, after: true }],
    });
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["revisions", "show"]), 2, "N is missing");
    expectOneLine(await run(["revisions", "show", "first"]), 2, '"first"', "whole number");
    expectOneLine(await run(["revisions", "show", "99999"]), 1, "99999");
    expectOneLine(await run(["revisions", "undo"]), 2, '"revisions undo"', "list, show");
    expectOneLine(await run(["revisions", "list", "7"]), 2, '"7"');
    expectOneLine(await run(["revisions", "--limit=0"]), 2, "--limit", "1 to 1000");
    expectOneLine(await run(["revisions", "--gateway", "unknown"]), 1, "unknown");
  });
});

describe("diff", () => {
  test("merges the changes of several revisions by record and field", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "before" });
    const from = await newestRevision();
    const path = `/gateways/${id}`;
    await gatehouse.api("PATCH", path, { name: "between", require_api_key: true });
    const middle = await newestRevision();
    await gatehouse.api("PATCH", path, { name: "after", require_api_key: false });
    const added = await create(gatehouse, "/gateways", { name: "added" });
    const removed = await create(gatehouse, "/gateways", { name: "removed" });
    await gatehouse.api("DELETE", `/gateways/${removed.id}`);
    const text = await print("diff", String(from));
    expect(text).toContain(
      `~ gateway after (${id})\n    name: "before" → "after"\n+ gateway added (${added.id})\n`,
    );
    expect(text).not.toContain("require_api_key: true");
    expect(text).not.toContain("removed");
    expect(await printJson("diff", String(from), String(middle))).toMatchObject({
      from,
      to: middle,
      records: [
        {
          resource: "gateway",
          id,
          changes: expect.arrayContaining([
            { path: "name", before: "before", after: "between" },
            { path: "require_api_key", before: false, after: true },
          ]),
        },
      ],
      left_out: 0,
    });
    expect(await print("diff", String(from), String(from))).toStartWith("nothing differs");
  });

  test("contains records that a revision changes beside its own", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "deleted" });
    const key = await create(gatehouse, "/iam/api-keys", { name: "its key", subject: id });
    const from = await newestRevision();
    await gatehouse.api("DELETE", `/gateways/${id}?cascade=true`);
    const text = await print("diff", String(from));
    expect(text).toContain(`- gateway deleted (${id})\n`);
    expect(text).toContain(`- api key its key (${key.id})\n    subject: "${id}"\n`);
    expect(text).not.toContain(key.key);
  });

  test("names records that a rollback changes", async () => {
    const from = await newestRevision();
    const { id } = await create(gatehouse, "/gateways", { name: "undone" });
    await print("rollback", String(from));
    expect(await print("diff", String(from + 1))).toContain(`- gateway undone (${id})\n`);
  });

  test("shows that a credential changed, and not the credential", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "secretive" });
    const target = (header_value: string) => ({
      targets: [{ provider: "openai", credentials: { header_name: "Authorization", header_value } }],
    });
    const upstreams = `/gateways/${id}/upstreams`;
    const upstream = await create(gatehouse, upstreams, { name: "u", ...target("Bearer sk-aaaaaaaa-1234") });
    const from = await newestRevision();
    await gatehouse.api("PATCH", `${upstreams}/${upstream.id}`, target("Bearer sk-bbbbbbbb-1234"));
    const text = await print("diff", String(from));
    expect(text).toContain("    targets[0].credentials.header_value: changed\n");
    expect(text).not.toMatch(/aaaaaaaa|bbbbbbbb/);
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["diff"]), 2, "N is missing");
    expectOneLine(await run(["diff", "2", "1"]), 2, "earlier revision first");
    expectOneLine(await run(["diff", "99999"]), 1, "99999 does not exist", "gatehouse revisions");
    expectOneLine(await run(["diff", "1", "99999"]), 1, "99999 does not exist");
  });

  test("a revision that is no longer kept is an error, not a partial result", async () => {
    const short = await startGatehouseProcess({ env: { REVISIONS_KEPT: "2" } });
    for (const name of ["a", "b", "c", "d", "e"]) await create(short, "/gateways", { name });
    const newest = (await short.api("GET", "/revisions?limit=1")).body.revisions[0].revision;
    const result = await run(["diff", "0"], settingsOf(short));
    await short.stop();
    expectOneLine(result, 1, "Revision 1 is no longer kept", `one to compare with is ${newest - 2}`);
  });
});

describe("rollback", () => {
  test("restores a revision, prints the new one, and what it cannot undo", async () => {
    const { id } = await create(gatehouse, "/gateways", { name: "kept" });
    const key = await create(gatehouse, "/iam/api-keys", { name: "gone", subject: id });
    const number = await newestRevision();
    await gatehouse.api("PATCH", `/gateways/${id}`, { name: "changed" });
    await gatehouse.api("DELETE", `/iam/api-keys/${key.id}`);
    const text = await print("rollback", String(number));
    expect(text).toBe(
      `rolled back to revision ${number}; the new revision is ${number + 3}\n` +
        `not undone: API key "gone" (${key.id}) was revoked\n`,
    );
    expect((await gatehouse.api("GET", `/gateways/${id}`)).body.name).toBe("kept");
    expect(await printJson("rollback", String(number))).toMatchObject({
      revision: number + 3,
      not_undone: [{ api_key_id: key.id, reason: "revoked" }],
    });
    expect(await print("rollback", String(number))).toStartWith("nothing to restore");
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["rollback"]), 2, "N is missing");
    expectOneLine(await run(["rollback", "99999"]), 1, "99999");
    expectOneLine(await run(["rollback", "1", "2"]), 2, '"2"');
  });
});

describe("blocks", () => {
  /** Creates a gateway that blocks ann and bob. */
  async function seedBlocks(name: string): Promise<string> {
    const limits = limiter({ per_user: [1, "1h"] }, { actions: { type: "block" } });
    const route = await seedRoute(gatehouse, {
      gateway: { name, required_plugins: [limits] },
      upstream: { targets: [targetAt(provider)] },
    });
    for (const user of ["ann", "bob"])
      for (const status of [200, 403])
        expect((await postChat(gatehouse, route, { headers: { "X-User-ID": user } })).status).toBe(status);
    await waitUntil(
      async () => (await gatehouse.api("GET", `/gateways/${route.gateway}/blocks`)).body.count === 2,
    );
    return route.gateway;
  }

  test("are listed, removed by id or subject, and cleared", async () => {
    await seedBlocks("guarded");
    const lines = (await print("blocks", "list", "--gateway", "guarded")).trimEnd().split("\n");
    expect(lines[0]).toMatch(/^ID +TYPE +SUBJECT +SINCE +EXPIRES$/);
    expect(lines).toHaveLength(3);
    expect(lines[1]).toMatch(/^\S{36} +per_user +\S*ann\S* +\d{4}-\S+Z +\S+$/);
    const [ann, bob] = await printJson("blocks", "list", "--gateway", "guarded");
    const removed = await print("blocks", "remove", ann.id, "--gateway", "guarded");
    expect(removed).toBe(`removed the per_user block of ${ann.subject} (${ann.id})\n`);
    expect(await printJson("blocks", "remove", bob.subject, "--gateway", "guarded")).toEqual({ removed: 1 });
    expect(await print("blocks", "list", "--gateway", "guarded")).toBe("gateway guarded has no block\n");
    await seedBlocks("guarded twice");
    expect(await print("blocks", "clear", "--gateway", "guarded twice")).toBe(
      "removed 2 blocks of gateway guarded twice\n",
    );
    expect(await printJson("blocks", "clear", "--gateway", "guarded twice")).toEqual({ removed: 0 });
  });

  test("mistakes: one line per mistake", async () => {
    await create(gatehouse, "/gateways", { name: "unguarded" });
    expectOneLine(await run(["blocks"]), 2, "list, remove, clear");
    expectOneLine(await run(["blocks", "delete"]), 2, '"blocks delete"');
    expectOneLine(await run(["blocks", "remove"]), 2, "id or the subject");
    expectOneLine(await run(["blocks", "clear", "all"]), 2, '"all"');
    expectOneLine(await run(["blocks", "list"]), 2, "--gateway");
    const unknown = await run(["blocks", "remove", "x", "--gateway", "unguarded"]);
    expectOneLine(unknown, 1, 'gateway unguarded has no block "x"');
  });
});

describe("usage", () => {
  test("prints tokens and cost by day, model, or API key, and in total", async () => {
    const route = await seedRoute(gatehouse, {
      gateway: { name: "metered" },
      upstream: { targets: [targetAt(provider)] },
    });
    expect(await print("usage", "--gateway", "metered")).toStartWith("no usage from ");
    const key = await seedKey(gatehouse, route.gateway, { name: "mobile" });
    const headers = { "X-GW-API-Key": key.key };
    for (const model of ["small", "small", "large"]) {
      const labels = model === "small" ? { team: "search" } : { team: null };
      await gatehouse.api("PATCH", `/iam/api-keys/${key.id}`, { labels });
      await (await postChat(gatehouse, route, { headers, body: { ...CHAT, model } })).text();
    }
    await waitUntil(
      async () => (await printJson("usage", "--gateway", "metered", "--by=model")).total.requests === 3,
    );
    const report = await printJson("usage", "--gateway", "metered", "--by=model");
    expect(report.usage).toMatchObject([
      { model: "large", requests: 1 },
      { model: "small", requests: 2 },
    ]);
    const { input_tokens: input, output_tokens: output } = report.total;
    const lines = (await print("usage", "--gateway", "metered", "--by", "key,model", "--from", "7d")).split(
      "\n",
    );
    expect(lines[0]).toMatch(
      /^API KEY +MODEL +REQUESTS +PARTIAL +INPUT TOKENS +OUTPUT TOKENS +UNPRICED +COST$/,
    );
    expect(lines[1]).toMatch(/^mobile +large +1 +0 +\d+ +\d+ +1 +-$/);
    expect(lines[3]).toMatch(new RegExp(`^total +3 +0 +${input} +${output} +3 +-$`));
    expect(await print("usage", "--gateway", "metered", "--by", "label:team,provider")).toMatch(
      /^TEAM +PROVIDER +REQUESTS .*\n\(none\) +openai +1 .*\nsearch +openai +2 /,
    );
    expect(await print("usage", "--gateway", "metered", "--by", "rule")).toMatch(/^RULE .*\n\/route-\d+ +3 /);
    expect(await print("usage", "--by", "gateway")).toMatch(/^GATEWAY [^]*\nmetered +3 /);
    const everything = await printJson("usage", "--all", "--by=label:team");
    expect(everything.usage).toContainEqual(
      expect.objectContaining({ labels: { team: "search" }, requests: 2 }),
    );
    expect(await print("usage", "--gateway", "metered", "--to", "2026-01-01")).toBe(
      "no usage from 2025-12-03 to 2026-01-01\n",
    );
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["usage", "--by", "team"]), 2, '"team"', "day, model, key");
    expectOneLine(await run(["usage", "--by", "day,day"]), 2, '"day,day"');
    expectOneLine(await run(["usage", "--by", "label:"]), 2, '"label:"', "label:NAME");
    expectOneLine(await run(["usage", "--all", "--gateway", "metered"]), 2, "--all and --gateway");
    expectOneLine(await run(["usage", "--from", "yesterday"]), 2, "--from", "2026-11-01");
    const reversed = ["usage", "--gateway", "metered", "--from", "2026-02-01", "--to", "2026-01-01"];
    expectOneLine(await run(reversed), 1, "from", "must not be later than 2026-01-01");
  });

  test("of a deleted gateway is kept, under its id", async () => {
    const { gateways } = (await gatehouse.api("GET", "/gateways?name=metered")).body;
    expect((await gatehouse.api("DELETE", `/gateways/${gateways[0].id}?cascade=true`)).status).toBe(204);
    expect(await print("usage", "--by", "gateway")).toMatch(
      new RegExp(`\nmetered \\(deleted, ${gateways[0].id}\\) +3 `),
    );
    expect(await print("usage", "--gateway", gateways[0].id, "--by", "model")).toContain("small");
  });
});

describe("requests", () => {
  const seedChat = (at: RunningGatehouse, name: string) =>
    seedRoute(at, { gateway: { name }, upstream: { targets: [targetAt(provider)] } });

  /** Starts `gatehouse requests --follow` as a process. */
  function follow(env: Record<string, string>, ...args: readonly string[]) {
    const child = Bun.spawn([PROGRAM, "requests", "--follow", ...args], {
      env: { PATH: process.env["PATH"], ...env },
      stdout: "pipe",
      stderr: "pipe",
    });
    const printed = { stdout: "", stderr: "" };
    const collect = async (name: keyof typeof printed) => {
      for await (const text of child[name].pipeThrough(new TextDecoderStream())) printed[name] += text;
    };
    const ended = Promise.all([child.exited, collect("stdout"), collect("stderr")]).then(([code]) => code);
    return { child, printed, ended };
  }

  test("lists the last ones, newest first, also by status, outcome, or model", async () => {
    const route = await seedChat(gatehouse, "logged");
    for (const model of ["small", "large"])
      await (await postChat(gatehouse, route, { body: { ...CHAT, model } })).text();
    await (await postChat(gatehouse, route, { body: "{ broken" })).text();
    const at = ["requests", "--gateway", "logged"];
    await waitUntil(async () => (await printJson(...at)).length === 3);
    const lines = (await print(...at)).split("\n");
    expect(lines[0]).toMatch(/^TIME +STATUS +OUTCOME +REQUEST +OPERATION +MODEL .* REQUEST ID$/);
    expect(lines[1]).toMatch(new RegExp(`Z +400 +refused \\(invalid_json\\) +POST ${route.path} `));
    expect(lines[2]).toMatch(
      /Z +200 +complete +POST \S+ +chat +large +openai +- +\d+ \+ \d+ +\S+ +\d+ ms +\S+$/,
    );
    const modelsOf = async (...filter: readonly string[]) =>
      (await printJson(...at, ...filter)).map(({ model }: { model: string | null }) => model);
    expect(await modelsOf("--status=2xx")).toEqual(["large", "small"]);
    expect(await modelsOf("--outcome=refused")).toEqual([null]);
    expect(await modelsOf("--model=small")).toEqual(["small"]);
    expect(await modelsOf("--limit=2", "--status", "200", "--outcome", "complete")).toHaveLength(2);
    expect(await print(...at, "--model=none")).toBe("no request is recorded\n");
  });

  test("--follow prints each new request, reconnects after a restart, and ends with Ctrl-C", async () => {
    const adminPort = String(freePort());
    const dataDir = temporaryDirectory();
    const start = () => startGatehouseProcess({ dataDir, keepData: true, env: { ADMIN_PORT: adminPort } });
    let server = await start();
    const route = await seedChat(server, "followed");
    const { child, printed, ended } = follow(settingsOf(server), "--json", "--model=wanted");
    /** Sends requests until the command prints one of them. */
    const untilPrinted = async () => {
      const before = printed.stdout.length;
      await waitUntil(async () => {
        for (const model of ["other", "wanted"])
          await (await postChat(server, route, { body: { ...CHAT, model } })).text();
        return printed.stdout.length > before;
      });
    };
    await untilPrinted();
    await server.stop();
    await waitUntil(() => printed.stderr.includes("lost; reconnecting\n"));
    server = await start();
    await untilPrinted();
    child.kill("SIGINT");
    expect(await ended).toBe(0);
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
    const records = printed.stdout.trimEnd().split("\n");
    for (const record of records) expect(JSON.parse(record)).toMatchObject({ model: "wanted", status: 200 });
    const url = `http://127.0.0.1:${adminPort}`;
    expect(printed.stderr).toBe(
      `gatehouse: connection to ${url} lost; reconnecting\ngatehouse: connected to ${url} again\n`,
    );
  });

  test("--follow ends when its reader has ended", async () => {
    const route = await seedChat(gatehouse, "piped");
    const command = `"${PROGRAM}" requests --follow --gateway piped | head -n 1`;
    const child = Bun.spawn(["bash", "-c", command], {
      env: { PATH: process.env["PATH"], ...settingsOf(gatehouse) },
      stdout: "pipe",
    });
    await waitUntil(async () => {
      await (await postChat(gatehouse, route)).text();
      return child.exitCode !== null;
    });
    expect(await child.stdout.text()).toMatch(/^\S+Z {2}200 {5}complete {5}POST .*\n$/);
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["requests", "--status=ok"]), 2, '"ok"', "5xx");
    expectOneLine(await run(["requests", "--outcome=good"]), 2, '"good"', "complete, refused");
    expectOneLine(await run(["requests", "--limit=none"]), 2, "--limit");
    expectOneLine(await run(["requests", "--follow", "--limit=5"]), 2, "--limit", "--follow");
    expectOneLine(await run(["requests", "--follow", "--gateway=unknown"]), 1, "unknown");
    const url = `http://127.0.0.1:${freePort()}`;
    expectOneLine(await run(["requests", "--follow", "--url", url]), 1, "no gateway is reachable");
  });
});

describe("completion", () => {
  /** Returns what bash offers for the last of these arguments; bash passes "=" as an argument of its own. */
  async function offered(...args: readonly string[]): Promise<string[]> {
    const script = `${await print("completion", "bash")}
      COMP_WORDS=(gatehouse "$@"); COMP_CWORD=$#; _gatehouse; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const child = Bun.spawn(["bash", "-c", script, "bash", ...args], { stdout: "pipe", stderr: "inherit" });
    return (await child.stdout.text()).split("\n").filter((word) => word !== "");
  }

  test("bash completes commands, actions, flags, and values", async () => {
    expect(await offered("re")).toEqual(["rewrap", "revisions", "reconcile", "requests"]);
    expect(await offered("--v")).toEqual(["--version"]);
    expect(await offered("keys", "")).toEqual(expect.arrayContaining(["create", "list", "revoke", "--name"]));
    expect(await offered("keys", "create", "")).not.toContain("revoke");
    expect(await offered("requests", "--f")).toEqual(["--follow"]);
    expect((await offered("mcp", "")).filter((word) => !word.startsWith("-"))).toEqual([
      ...["list", "tools", "approve", "call"],
    ]);
    expect(await offered("mcp", "call", "--a")).toEqual(["--arguments"]);
    expect(await offered("requests", "--outcome", "c")).toEqual(["complete", "client_left"]);
    expect(await offered("serve", "--role", "=", "p")).toEqual(["proxy"]);
    expect(await offered("serve", "--role", "=")).toEqual(["admin", "proxy", "all"]);
    expect(await offered("explain", "--body", "")).toEqual([]);
    expect(await offered("unknown", "")).toEqual([]);
  });

  test("knows exactly the flags that each command accepts", async () => {
    const commands: { name: string; flags: { name: string }[] }[] = await printJson("completion");
    expect(commands.length).toBeGreaterThan(10);
    for (const { name, flags } of commands) {
      const { stderr } = await run([name, "--xxxxxxxxxxxxxxxx"]);
      const accepted = stderr.match(/--[a-z-]+(?=,|$)/gm) ?? [];
      expect({ name, flags: flags.map((flag) => `--${flag.name}`).sort() }).toEqual({
        name,
        flags: [...new Set(accepted)].sort(),
      });
    }
  });

  test("scripts for zsh and fish name every command and flag", async () => {
    const commands: { name: string; flags: { name: string }[] }[] = await printJson("completion");
    const zsh = await print("completion", "zsh");
    const fish = await print("completion", "fish");
    expect(zsh).toStartWith("#compdef gatehouse\n");
    for (const { name, flags } of commands) {
      expect(zsh).toContain(`\n    ${name})\n      _arguments`);
      expect(fish).toContain(`-n __fish_use_subcommand -f -a ${name} -d '`);
      for (const flag of flags)
        expect(fish).toContain(`-n '__fish_seen_subcommand_from ${name}' -l ${flag.name} `);
    }
    expect(zsh).toContain("'--role=[default all]:role:(admin proxy all)'");
    // The apostrophe in a description is quoted.
    expect(zsh).toContain(String.raw`provider'\''s name`);
    expect(fish).toContain(String.raw`provider\'s name`);
  });

  test("mistakes: one line per mistake", async () => {
    expectOneLine(await run(["completion"]), 2, "shell is missing");
    expectOneLine(await run(["completion", "tcsh"]), 2, '"tcsh"', "bash, zsh, fish");
  });
});
