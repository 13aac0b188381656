// gatehouse demo: a routed answer with no account and no internet, and printed commands that work when pasted.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { LAUNCHER, waitFor } from "../support/gatehouse-process.ts";

test("the demo shows a routed answer, its commands work as printed, and it leaves nothing behind", async () => {
  const temporary = process.env["TMPDIR"] ?? "/tmp";
  const demo = Bun.spawn([LAUNCHER, "demo"], {
    env: { PATH: process.env["PATH"], ADMIN_PORT: "0", PROXY_PORT: "0", TMPDIR: temporary },
    stdout: "pipe",
    stderr: "pipe",
  });
  let output = "";
  void (async () => {
    for await (const chunk of demo.stdout) output += new TextDecoder().decode(chunk);
  })();
  await waitFor(() => (output.includes("Ctrl-C ends the demo") ? true : null));
  expect(output).toContain("→ 200, by openai");
  expect(output).toContain('Hello from openai. You said: \\"Hello, Gatehouse!\\".');

  const commands = output.slice(output.indexOf("# one provider"), output.indexOf("API reference:"));
  const shell = Bun.spawnSync(["sh", "-ec", commands]);
  const answers = shell.stdout.toString();
  expect(shell.exitCode).toBe(0);
  expect(answers).toContain("Hello from openai.");
  expect(answers).toMatch(/"delta":\{"content":"Hello"\}[\s\S]*data: \[DONE\]/);
  expect(answers).toContain('"id":"claude-sonnet-4-5","object":"model"');
  expect(answers).toContain('{"gateways":[{"id":');

  demo.kill("SIGINT");
  expect(await demo.exited).toBe(0);
  expect(await new Response(demo.stderr).text()).toBe("");
  const { pid } = demo;
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});
