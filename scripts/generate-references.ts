// Generates docs/settings.md, docs/errors.md, and docs/metrics.md from the tables in the code, and the declarations and the reference of
// the plugin SDK from its types: `npm run docs`. A test fails if they are outdated.
import { join } from "node:path";
import { ERRORS } from "../src/base/errors.ts";
import { SETTINGS } from "../src/config/settings.ts";
import { MAX_HISTOGRAM_SERIES, MAX_SERIES } from "../src/telemetry/metrics/metric-family.ts";
import type { MetricDeclaration } from "../src/telemetry/metrics/metric-declaration.ts";
import { METRICS } from "../src/telemetry/metrics/metric-table.ts";
import { declarationFiles } from "./sdk-declarations.ts";
import { sdkReference } from "./sdk-reference.ts";

export function references(): Map<string, string> {
  return new Map([
    ["docs/settings.md", settingsReference()],
    ["docs/errors.md", errorsReference()],
    ["docs/metrics.md", metricsReference()],
    ["docs/reference/plugin-sdk.md", sdkReference()],
    ...declarationFiles(),
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

Typed clients of providers cannot read this shape. \`error_format\` of a gateway, or of a rule, selects another one for the responses of the
data plane: \`openai\`, \`anthropic\`, or \`auto\`, which is the format of the request (Anthropic's for paths that end in \`/messages\` and for
requests with \`anthropic-version\`, otherwise OpenAI's). The status stays the same.

If neither the key nor the Host selects one of several gateways, no \`error_format\` applies. A request to the path of an operation, such as
\`/v1/chat/completions\` or \`/v1/models\`, then gets the format of the request, with \`code\` and \`request_id\` of the shape above beside it; other
requests get the shape above. An unknown \`gw_\` key is 401 \`invalid_api_key\`. A provider's own key (\`sk-…\`) selects no gateway: 400
\`ambiguous_gateway\` where several have a rule for the request.

| \`error_format\` | body |
| --- | --- |
| \`gatehouse\` (default) | \`{"error", "code", "request_id", "details"?, "retry_after"?}\` |
| \`openai\` | \`{"error": {"message", "type", "param", "code"}}\` |
| \`anthropic\` | \`{"type": "error", "error": {"type", "message", "code"}, "request_id"}\` |

\`code\` is the code of the table below in all of them. Every error response has the id of the request in \`X-Request-Id\` and \`Request-Id\`.

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

\`GET /metrics\` on the admin listener returns the metrics in the Prometheus text format, without a token.
\`deploy/grafana/gatehouse.json\` is a Grafana dashboard for them, and \`deploy/prometheus/alerts.yaml\` has alert rules.

- \`gateway\` and \`upstream\` are names. \`rule\` is the name of a rule, or its path if it has no name. Objects with the same name
  are counted together. \`target\` is an id. A label is empty if it does not apply: no rule matched, no provider was called.
- \`model\` is the model that was sent to the provider. A model that no target lists gets its own series once a provider has
  responded to it with success, up to 50 models per target; otherwise it is counted as \`other\`.
- A metric has at most ${MAX_SERIES.toLocaleString("en")} series per gateway, a histogram ${MAX_HISTOGRAM_SERIES}. When a gateway has that many, series that were unused for an hour
  are removed; if there are none, new series are counted with \`other\` in every label except \`gateway\`. Series of deleted gateways are removed.
- Values are those of one service since its start: of all its worker processes (\`WORKERS\`), also of those that were replaced.

| metric | type | labels | meaning |
| --- | --- | --- | --- |
${rows.join("\n")}
`;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  for (const [file, text] of references()) await Bun.write(join(root, file), text);
  // The formatter aligns the tables; the test compares the formatted text.
  Bun.spawnSync([process.execPath, "fmt", ...[...references().keys()].map((file) => join(root, file))]);
}
