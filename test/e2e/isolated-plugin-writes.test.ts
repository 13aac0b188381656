// Writes of isolated plugins: other writes do not wait for the start of the thread or process, which may take longer than a write may.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "../support/admin-fixtures.ts";
import { pluginsDirectory } from "../support/plugin-fixtures.ts";
import { temporaryDirectory } from "../support/temporary-directory.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";
import { waitUntil } from "../support/waiting.ts";

/** create() blocks its thread or process until the test writes a file. */
const SLOW = `
  import { definePlugin, z } from "gatehouse/sdk";
  import { appendFileSync, existsSync } from "node:fs";
  export default definePlugin({
    name: "slow",
    description: "Starts slowly.",
    stages: ["pre_request"],
    settings: z.strictObject({ folder: z.string() }),
    create({ folder }) {
      appendFileSync(folder + "/created", ".");
      const never = new Int32Array(new SharedArrayBuffer(4));
      while (!existsSync(folder + "/continue")) Atomics.wait(never, 0, 0, 5);
      if (existsSync(folder + "/fail")) throw new Error("the list is missing");
      return { pre_request() {} };
    },
  });`;

const gatehouse = await useGatehouse({ env: { PLUGINS_DIR: pluginsDirectory({ "slow.ts": SLOW }) } });

let gateways = 0;

describe.each(["worker", "process"])("isolation %s", (isolation) => {
  const slowIn = (folder: string) => ({
    name: "slow",
    stage: "pre_request",
    settings: { folder },
    isolation,
  });

  const writes = {
    create: (folder: string) => () =>
      gatehouse.api("POST", "/gateways", { name: `slow ${++gateways}`, required_plugins: [slowIn(folder)] }),
    change: async (folder: string) => {
      const { id } = await create(gatehouse, "/gateways", { name: `slow ${++gateways}` });
      return () => gatehouse.api("PATCH", `/gateways/${id}`, { required_plugins: [slowIn(folder)] });
    },
    apply: (folder: string) => () =>
      gatehouse.api("POST", "/apply", {
        gateways: [{ name: `slow ${++gateways}`, required_plugins: [slowIn(folder)] }],
      }),
  };

  test.each(Object.entries(writes))("%s: other writes do not wait for the plugin", async (_name, prepare) => {
    const folder = temporaryDirectory("gatehouse-slow-");
    const write = await prepare(folder);
    const writing = write();
    await waitUntil(() => existsSync(join(folder, "created")));
    await create(gatehouse, "/gateways", { name: `other ${++gateways}` });
    writeFileSync(join(folder, "continue"), "");
    const { status, body } = await writing;
    expect(body).not.toHaveProperty("error");
    expect([200, 201]).toContain(status);
    // The repeated write has found the instance that the first attempt ordered.
    expect(readFileSync(join(folder, "created"), "utf8")).toBe(".");
  });

  test.each(Object.entries(writes))(
    "%s: a plugin that cannot be created is reported",
    async (_name, prepare) => {
      const folder = temporaryDirectory("gatehouse-slow-");
      for (const name of ["continue", "fail"]) writeFileSync(join(folder, name), "");
      const { status, body } = await (await prepare(folder))();
      expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining("the list is missing")]);
    },
  );
});
