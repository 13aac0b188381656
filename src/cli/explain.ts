// gatehouse explain: what would become of a request, told readably. Nothing is sent and nothing is counted.
import type { Explanation } from "../model/explanation.ts";
import { adminClient, CLIENT_FLAGS, CLIENT_HELP } from "./admin-client.ts";
import { UsageError, type Command } from "./command.ts";
import { renderExplanation } from "./explain-text.ts";
import { findGateway } from "./find-gateway.ts";
import { Words } from "./words.ts";

export const explain: Command = {
  summary: "tell what would become of a request: rule, key, plugins, limits, target",
  help: `Usage: gatehouse explain --path PATH [--gateway NAME|ID] [--method M] [--header K:V …] [--body FILE|-] [--json]

Asks a running gateway what it would do with a request. No provider is called and nothing is counted.

  --path PATH       the path, with its query
  --gateway G       name or id; may be left out where there is only one
  --method M        default POST
  --header K:V      a header of the request; may come again
  --body FILE|-     the body, from a file or standard input; JSON is sent as such
  --client ADDRESS  where the request would come from; default 127.0.0.1
${CLIENT_HELP}
  --json            print it for machines`,
  run: async (given) => {
    const words = new Words(given, {
      values: ["--gateway", "--method", "--path", "--body", "--client", ...CLIENT_FLAGS],
      lists: ["--header"],
      switches: ["--json"],
    });
    const path = words.required("--path");
    const headers = readHeaders(words.list("--header"));
    const file = words.value("--body");
    const body = file === undefined ? undefined : await readBody(file);
    if (body !== undefined && !hasHeader(headers, "content-type") && isJson(body))
      headers["Content-Type"] = "application/json";
    const client = await adminClient({ url: words.value("--url"), token: words.value("--token") });
    const gateway = await findGateway(client, words.value("--gateway"));
    const method = words.value("--method") ?? "POST";
    const client_address = words.value("--client");
    const explanation = await client.post<Explanation>(`/gateways/${gateway.id}/explain`, {
      method,
      path,
      headers,
      ...(body !== undefined && { body }),
      ...(client_address !== undefined && { client_address }),
    });
    if (words.has("--json")) console.log(JSON.stringify(explanation));
    else console.log(renderExplanation(explanation, { method: method.toUpperCase(), path, gateway }));
    return 0;
  },
};

function readHeaders(given: readonly string[]): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const text of given) {
    const [, name, value] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? [];
    if (name === undefined || value === undefined)
      throw new UsageError(`--header is "${text}"; give a name and a value, as in "X-Team: red"`);
    headers[name] = value;
  }
  return headers;
}

async function readBody(file: string): Promise<string> {
  if (file === "-") return Bun.stdin.text();
  return Bun.file(file)
    .text()
    .catch(() => {
      throw new UsageError(
        `--body: the file "${file}" cannot be read; give another, or - for standard input`,
      );
    });
}

function hasHeader(headers: Readonly<Record<string, string>>, wanted: string): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === wanted);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
