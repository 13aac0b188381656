// Examples in the documentation and the first configuration: models that stay available, and commands that run this project.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Glob } from "bun";

const ROOT = join(import.meta.dir, "../..");
const PAGES = ["README.md", ...new Glob("docs/guides/*.md").scanSync({ cwd: ROOT })];
const SETUPS = [
  "src/formats/example-upstream.ts",
  ...new Glob("src/cli/connect/*.ts").scanSync({ cwd: ROOT }),
];

/** Models whose provider has announced the end, by Anthropic's and OpenAI's pages of model deprecations. */
const ENDED =
  /claude-(?:[23]|instant|sonnet-4-[05]\b|opus-4-[01]\b)|gpt-(?:3\.5|4-turbo|4-32k)|gemini-(?:1|2\.0)/;

const linesOf = async (file: string) => (await Bun.file(join(ROOT, file)).text()).split("\n");

test.each([...PAGES, ...SETUPS])("%s names no model that has ended or is about to", async (file) => {
  expect((await linesOf(file)).filter((line) => ENDED.test(line))).toEqual([]);
});

// The package of this name in the npm registry belongs to somebody else.
test.each(PAGES)("%s does not make readers run a package of the npm registry", async (file) => {
  expect(
    (await linesOf(file)).filter((line) => /\b(?:npx|bunx|npm exec)\b.*\bgatehouse\b/.test(line)),
  ).toEqual([]);
});
