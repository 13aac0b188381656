// Writes docs/settings.md and docs/errors.md from the tables in the code: `npm run docs`. A test fails when they differ.
import { join } from "node:path";
import { ERRORS } from "../src/base/errors.ts";
import { SETTINGS } from "../src/base/settings.ts";

export function references(): Map<string, string> {
  return new Map([
    ["docs/settings.md", settingsReference()],
    ["docs/errors.md", errorsReference()],
  ]);
}

function settingsReference(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, { shown, meaning }]) => `| \`${name}\` | ${shown} | ${meaning} |`,
  );
  return `# Settings

From the environment, or from a \`.env\` file in the folder the gateway is started in. An empty value counts as unset.
A bad value ends the start with one line that names the setting and the mend, and exit code 2.

| setting | default | meaning |
| --- | --- | --- |
${rows.join("\n")}
`;
}

function errorsReference(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning }]) => `| ${status} | \`${code}\` | ${meaning} |`,
  );
  return `# Errors

Both planes answer errors in one shape. \`error\` is a sentence for people, \`code\` is stable and for programs, \`request_id\`
finds the request in the log; \`details\` names every fault of a validation, \`retry_after\` is there for limits.

\`\`\`json
{
  "error": "targets[0].weight: must be a whole number, not a string",
  "code": "validation_failed",
  "request_id": "01890a5d-ac96-774b-bcce-b302099a8057",
  "details": [{ "path": "targets[0].weight", "message": "must be a whole number, not a string" }]
}
\`\`\`

| status | code | meaning |
| --- | --- | --- |
${rows.join("\n")}
`;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  for (const [file, text] of references()) await Bun.write(join(root, file), text);
  // The formatter aligns the tables; the test compares what it leaves.
  Bun.spawnSync([process.execPath, "fmt", ...[...references().keys()].map((file) => join(root, file))]);
}
