// The commands for a running gateway: its history, blocks, usage, and requests, and the completion of the shell.
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { create } from "../support/admin-fixtures.ts";
import { startGatehouseProcess } from "../support/gatehouse-process.ts";
import { expectOneLine, runCommand, settingsOf } from "../support/run-command.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

/** Commands are slow on a busy machine. */
setDefaultTimeout(60_000);

const gatehouse = await useGatehouse();
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
    expect(text).toContain(`- api key (${key.id})\n    name: "its key" → null\n`);
    expect(text).not.toContain(key.key);
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
    expectOneLine(result, 1, "revision 1 is no longer kept", `N to compare with is ${newest - 2}`);
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
