// The progress of commands: shown on a terminal while the gateway takes its time, and not otherwise.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { PROGRAM, temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";

setDefaultTimeout(60_000);

const directory = temporaryDirectory();
const file = join(directory, "gatehouse.yaml");
await Bun.write(file, "gateways: []\n");

/** Responds to every request when the test allows it. */
let allow = Promise.withResolvers<null>();
const admin = Bun.serve({
  port: 0,
  fetch: async ({ url }) => {
    await allow.promise;
    if (url.includes("/export")) return new Response("gateways: []\n");
    if (url.includes("/diff")) return Response.json({ from: 1, to: 1, records: [], left_out: 0 });
    return Response.json({ changes: [], revision: 7, not_undone: [], records: [], left_out: 0 });
  },
});
afterAll(async () => {
  await admin.stop(true);
  rmSync(directory, { recursive: true, force: true });
});

const env = {
  PATH: process.env["PATH"],
  TERM: "xterm",
  NO_COLOR: "1",
  GATEHOUSE_URL: `http://127.0.0.1:${admin.port}`,
  SERVER_SECRET_KEY: TEST_SECRET,
};

const CLEAR = "\r\u001B[K";

/** `script` gives the command a terminal. */
function spawnOnTerminal(args: readonly string[]) {
  return Bun.spawn(["script", "-qec", [PROGRAM, ...args].join(" "), "/dev/null"], {
    cwd: directory,
    env,
    stdin: "ignore",
    stdout: "pipe",
  });
}

test.each([
  ["applying", ["apply", file], "Nothing to change"],
  ["comparing", ["apply", file, "--dry-run"], "Nothing to change"],
  ["exporting", ["export"], "gateways: []"],
  ["comparing", ["diff", "1"], "nothing differs"],
  ["comparing", ["rollback", "1", "--dry-run"], "nothing to restore"],
])("%s is shown on a terminal and cleared before the output", async (label, args, result) => {
  allow = Promise.withResolvers();
  const child = spawnOnTerminal(args);
  let output = "";
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    output += chunk;
    if (output.includes(`${label} …`)) allow.resolve(null);
  }
  expect(await child.exited).toBe(0);
  expect(output).toStartWith(`${CLEAR}${label} …`);
  expect(output.split(CLEAR).at(-1)).toStartWith(result);
  // No colors with NO_COLOR.
  expect(output).not.toMatch(/\u001B\[[\d;]*m/);
});

test("bench shows what it does from its start", async () => {
  const child = spawnOnTerminal(["bench", "--seconds", "1"]);
  const output = await child.stdout.text();
  expect(await child.exited).toBe(0);
  expect(output).toMatch(/^\r\u001B\[K░{24} starting the gateway\r/);
  expect(output).toMatch(/[█░]{24} with gateway, 64 clients/);
  expect(output.split(CLEAR).at(-1)).toStartWith("added latency");
});
