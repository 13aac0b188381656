// Writes docs/settings.md, docs/errors.md and docs/metrics.md from the tables in the code: `npm run docs`. A test fails when they differ.
import { join } from "node:path";
import { ERRORS } from "../src/base/errors.ts";
import { SETTINGS } from "../src/config/settings.ts";
import { MAX_HISTOGRAM_SERIES, MAX_SERIES } from "../src/telemetry/metrics/metric-family.ts";
import { METRICS, type MetricDeclaration } from "../src/telemetry/metrics/metric-table.ts";

export function references(): Map<string, string> {
  return new Map([
    ["docs/settings.md", settingsReference()],
    ["docs/errors.md", errorsReference()],
    ["docs/metrics.md", metricsReference()],
  ]);
}

function settingsReference(): string {
  const rows = Object.entries(SETTINGS).map(
    ([name, { shownDefault, description }]) => `| \`${name}\` | ${shownDefault} | ${description} |`,
  );
  return `# Settings

Settings are environment variables, or lines of a \`.env\` file in the working directory. An empty value counts as unset.
On an invalid value the gateway exits with code 2 and prints one line that names the setting, the value, and the fix.

| setting | default | description |
| --- | --- | --- |
${rows.join("\n")}
`;
}

function errorsReference(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, meaning }]) => `| ${status} | \`${code}\` | ${meaning} |`,
  );
  return `# Errors

All error responses of both planes have one shape. \`error\` is a sentence for people, \`code\` is stable and for programs, and
\`request_id\` identifies the request in the log. Validation errors have \`details\`, one entry per problem. Rate limit errors
have \`retry_after\`.

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

function metricsReference(): string {
  const rows = Object.entries<MetricDeclaration>(METRICS).map(([name, { type, labels, help }]) => {
    const shown = labels.map((label) => `\`${label}\``).join(", ");
    return `| \`${name}\` | ${type} | ${shown} | ${help} |`;
  });
  return `# Metrics

\`GET /metrics\` on the admin listener, in Prometheus' text format, without a token. \`deploy/grafana/gatehouse.json\` is a
dashboard over them.

- \`gateway\` and \`upstream\` are names, \`rule\` is a rule's name, or its path where it has none. Things of the same name
  are counted together. \`target\` is an id. A label is empty where there was none: no rule matched, no provider was asked.
- \`model\` is the model that was sent to the provider. One that no target names gets a series of its own once a provider
  has answered it well, up to 50 a target; until then, and beyond, it is \`other\`.
- A metric has at most ${MAX_SERIES.toLocaleString("en")} series, a histogram ${MAX_HISTOGRAM_SERIES}. When it is full, those unused for an hour give way; else what is new is
  counted with \`other\` in every label.
- Figures are those of one process, from its start.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  for (const [file, text] of references()) await Bun.write(join(root, file), text);
  // The formatter aligns the tables; the test compares what it leaves.
  Bun.spawnSync([process.execPath, "fmt", ...[...references().keys()].map((file) => join(root, file))]);
}
