// The commands of the README work when pasted into one shell of a new checkout: `npm start`, then every shell block of the walkthrough.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { startReaderCheckout } from "../support/reader-checkout.ts";

setDefaultTimeout(60_000);
const README = readFileSync(join(import.meta.dir, "../../README.md"), "utf8");
const checkout = await startReaderCheckout();
afterAll(() => checkout.stop());

function shellBlocks(text: string): string[] {
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
}

test("starts with the commands to run and to test the gateway", () => {
  const [start, tests] = shellBlocks(README);
  expect([start, tests]).toEqual(["npm install && npm start\n", "npm install && npm test\n"]);
});

test("the walkthrough routes requests to both providers and leaves no process behind", async () => {
  const walkthrough = README.slice(README.indexOf("## Route your first request"));
  const { code, output, errors, left } = await checkout.paste(shellBlocks(walkthrough).join("\n"));
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2);
  expect(output).toMatch(/x-gw-provider: openai[\s\S]*"object":"chat\.completion"/i);
  expect(output).toMatch(/x-gw-provider: anthropic[\s\S]*"type":"message"/i);
  expect(left).toEqual([]);
});

test("the configuration of the walkthrough is not reported as probably wrong", async () => {
  const { code } = await checkout.paste("bin/gatehouse export | bin/gatehouse check - --json >checked.json");
  expect(code).toBe(0);
  const checked: unknown = await Bun.file(join(checkout.directory, "checked.json")).json();
  expect(checked).toMatchObject({ valid: true, warnings: [] });
});
