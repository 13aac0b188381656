// What a process that has started keeps in memory.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";
import { waitUntil } from "../support/waiting.ts";

let gatehouse: GatehouseProcess;
beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
});
afterAll(() => gatehouse.stop());

/** Returns how much machine code of the program is mapped. */
function codeBytes(): number {
  const smaps = readFileSync(`/proc/${gatehouse.pid}/smaps`, "utf8");
  const code = /^\S+ r-xp \S+ \S+ \d+ +\/.*\/(?:bun|gatehouse)[^/]*\n(?:\w+:.*\n)*?Rss: +(\d+) kB$/m.exec(
    smaps,
  );
  return Number(code?.[1]) * 1024;
}

test.skipIf(process.platform !== "linux")(
  "a started gateway releases the code that only startup needed, and serves requests afterwards",
  async () => {
    const needed = 20 * 1024 * 1024;
    await waitUntil(() => codeBytes() < needed);
    expect(codeBytes()).toBeGreaterThan(0);
    expect((await gatehouse.api("POST", "/gateways", { name: "first" })).status).toBe(201);
    expect((await fetch(`${gatehouse.proxyUrl}/readyz`)).status).toBe(200);
  },
);
