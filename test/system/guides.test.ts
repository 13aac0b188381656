// The commands of each guide work when pasted in order into one shell of a new checkout, print the documented output, and leave no
// process behind.
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { startReaderCheckout } from "../support/reader-checkout.ts";

setDefaultTimeout(60_000);
const GUIDES_DIRECTORY = join(import.meta.dir, "../../docs/guides");
const GUIDES = [
  "first-gateway",
  "keys-and-limits",
  "failover",
  "sanitation",
  "coding-agents",
  "realtime",
  "prices",
  "teams-and-budgets",
  "virtual-models",
  "response-cache",
  "upgrade",
  "fake-provider",
  "tools-for-agents",
];
const checkout = await startReaderCheckout();
afterAll(() => checkout.stop());

interface Block {
  readonly kind: string;
  readonly lines: readonly string[];
}

function blocksOf(guide: string): Block[] {
  return [...guide.matchAll(/^( *)```(sh|text)\n([\s\S]*?)^ *```$/gm)].map(
    ([, indent = "", kind = "", text = ""]) => ({
      kind,
      lines: text
        .trimEnd()
        .split("\n")
        .map((line) => line.slice(indent.length)),
    }),
  );
}

test.each(GUIDES)("%s", async (name) => {
  const blocks = blocksOf(readFileSync(join(GUIDES_DIRECTORY, `${name}.md`), "utf8"));
  const commands = blocks.flatMap(({ kind, lines }) => (kind === "sh" ? [lines.join("\n")] : []));
  expect(commands.length).toBeGreaterThan(1);
  const { code, output, errors, left } = await checkout.paste(commands.join("\n"));
  if (code !== 0) throw new Error(`the commands of ${name} exited with code ${code}: ${errors}\n${output}`);
  for (const { kind, lines } of blocks)
    if (kind === "text") for (const line of lines) expect(output.toLowerCase()).toContain(line.toLowerCase());
  expect(left).toEqual([]);
});

// Nothing puts the executable on the PATH of a new checkout. Guides whose commands are not run must name it as the others do.
test("the commands of all guides run in a checkout", () => {
  const missing = readdirSync(GUIDES_DIRECTORY).flatMap((file) =>
    blocksOf(readFileSync(join(GUIDES_DIRECTORY, file), "utf8"))
      .filter(({ kind }) => kind === "sh")
      .flatMap(({ lines }) =>
        lines.filter((line) => /^gatehouse /.test(line)).map((line) => `${file}: ${line}`),
      ),
  );
  expect(missing).toEqual([]);
});

test("every variable in the commands of a guide is set by a command or explained", () => {
  const unknown = readdirSync(GUIDES_DIRECTORY).flatMap((file) => {
    const guide = readFileSync(join(GUIDES_DIRECTORY, file), "utf8");
    const commands = blocksOf(guide)
      .filter(({ kind }) => kind === "sh")
      .map(({ lines }) => lines.join("\n"))
      .join("\n");
    const used = [...commands.matchAll(/\$\{?([A-Z][A-Z_]+)(?!:-|[A-Z_])/g)].map(([, name = ""]) => name);
    return used
      .filter((name) => !commands.includes(`${name}=`) && !guide.includes(`\`${name}\``))
      .map((name) => `${file}: ${name}`);
  });
  expect(unknown).toEqual([]);
});

test("no configuration of the guides is reported as probably wrong", async () => {
  const { code } = await checkout.paste("bin/gatehouse export | bin/gatehouse check - --json >checked.json");
  expect(code).toBe(0);
  const checked: unknown = await Bun.file(join(checkout.directory, "checked.json")).json();
  expect(checked).toMatchObject({ valid: true, warnings: [] });
});
