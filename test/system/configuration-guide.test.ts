// The configuration guide works as written: its document is validated and applied, and its commands are executed.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryDirectory, TEST_SECRET } from "../support/gatehouse-process.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";

setDefaultTimeout(60_000);

const ROOT = join(import.meta.dir, "../..");
const GUIDE = readFileSync(join(ROOT, "docs/guides/configuration-as-code.md"), "utf8");
const blocksIn = (language: string) =>
  [...GUIDE.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, code = ""]) => code);

const folder = temporaryDirectory();
for (const part of ["bin", "scripts"]) symlinkSync(join(ROOT, part), join(folder, part));
const gatehouse = await useGatehouseProcess();
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

async function paste(script: string): Promise<string> {
  const here = script.replaceAll("http://127.0.0.1:8080", gatehouse.adminUrl);
  const shell = Bun.spawn(["bash", "-c", `set -eu\n${here}`], {
    cwd: folder,
    env: {
      PATH: process.env["PATH"],
      SERVER_SECRET_KEY: TEST_SECRET,
      GATEHOUSE_URL: gatehouse.adminUrl,
      OPENAI_API_KEY: "sk-of-the-guide-0123456789",
      ANTHROPIC_API_KEY: "sk-ant-of-the-guide-0123456789",
    },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([shell.stdout.text(), shell.stderr.text(), shell.exited]);
  expect({ script, code, err }).toEqual({ script, code: 0, err: "" });
  return out;
}

test("the guide's document and commands work as written", async () => {
  const [exportCommand = "", checkCommand = "", applyCommand = "", historyCommands = "", ...others] =
    blocksIn("sh");
  const [document = "", ...otherDocuments] = blocksIn("yaml");
  expect([...others, ...otherDocuments]).toEqual([]);

  await paste(exportCommand);
  const file = join(folder, "gatehouse.yaml");
  expect(readFileSync(file, "utf8")).toContain("gateways: []");
  writeFileSync(file, document);
  expect(await paste(checkCommand)).toBe("gatehouse.yaml: no problems in 1 gateway\n");
  const applied = await paste(applyCommand);
  expect(applied).toContain("+ rule acme / whole api");
  expect(applied).toContain("Applied as revision 1.");
  expect((await gatehouse.api("GET", "/gateways")).body.gateways[0]).toMatchObject({
    name: "acme",
    subdomain: "acme",
  });
  await gatehouse.api("POST", "/gateways", { name: "by mistake" });
  const history = await paste(historyCommands);
  expect(history).toMatch(/^1 +\S+ +cli:\S+ +apply +configuration$/m);
  expect(history).toContain("changes between revision 1 and revision 2\n+ gateway by mistake");
  expect(history).toContain("changes by a rollback to revision 1\n- gateway by mistake");
  expect(history).toEndWith("rolled back to revision 1; the new revision is 3\n");
  expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(1);
});
