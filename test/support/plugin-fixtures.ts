// Fixtures of the plugin tests: a directory of custom plugins, one of which runs code from its settings; gateways with
// plugins; and the log.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import type { ApiResponse, RunningGatehouse } from "./gatehouse-process.ts";
import { CHAT, seedRoute, targetAt, type SeededRoute } from "./proxy-fixtures.ts";
import { temporaryDirectory } from "./temporary-directory.ts";
import { waitFor } from "./waiting.ts";

export type Fields = Record<string, unknown>;
export type Stage = "pre_request" | "post_request" | "pre_response" | "post_response";

/** Creates a directory outside the repository with these files. */
export function pluginsDirectory(files: Readonly<Record<string, string>> = {}): string {
  const directory = temporaryDirectory("gatehouse-plugins-");
  for (const [name, source] of Object.entries(files)) writePlugin(directory, name, source);
  return directory;
}

export function writePlugin(directory: string, name: string, source: string): void {
  const file = join(directory, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, source);
}

/** Plugins whose hooks run the code in their settings, with the variables `context` and `host`. */
export const SCRIPTED_PLUGINS = {
  "scripted.ts": scriptedSource("scripted", ""),
  "scripted_whole.ts": scriptedSource("scripted_whole", 'needs: ["body"],'),
};

function scriptedSource(name: string, needs: string): string {
  return `
    import { definePlugin, z } from "gatehouse/sdk";
    const stages = ["pre_request", "post_request", "pre_response", "post_response"] as const;
    export default definePlugin({
      name: "${name}",
      description: "Runs the code in its settings.",
      stages,
      ${needs}
      settings: z.strictObject({ code: z.string() }),
      create({ code }, host) {
        const hook = new Function("context", "host", code) as (context: unknown, host: unknown) => void;
        return Object.fromEntries(stages.map((stage) => [stage, (context: unknown) => hook(context, host)]));
      },
    });`;
}

/** Returns an entry of `required_plugins` that runs this code at a stage. */
export function scripted(stage: Stage, code: string, fields: Fields = {}): Fields {
  return { name: "scripted", stage, settings: { code }, ...fields };
}

/** Like `scripted`, with a plugin that needs the whole body. */
export function scriptedWhole(stage: Stage, code: string, fields: Fields = {}): Fields {
  return { ...scripted(stage, code, fields), name: "scripted_whole" };
}

/** Returns code that may use `await`. */
export function asynchronous(code: string): string {
  return `return (async () => { ${code} })()`;
}

/** Creates a gateway with these plugins and one route to the provider. */
export function seedPlugins(
  gatehouse: RunningGatehouse,
  provider: FakeProvider,
  plugins: readonly Fields[],
  { target = {}, rule = {}, upstream = {} }: { target?: Fields; rule?: Fields; upstream?: Fields } = {},
): Promise<SeededRoute> {
  return seedRoute(gatehouse, {
    gateway: { required_plugins: plugins },
    upstream: { targets: [targetAt(provider, target)], ...upstream },
    rule,
  });
}

export interface ChatCall {
  readonly headers?: Record<string, string>;
  readonly signal?: AbortSignal;
  readonly body?: unknown;
  readonly query?: string;
}

/** Posts a chat, or the given body: a string unchanged, any other value as JSON. */
export function postChat(
  { proxyUrl }: RunningGatehouse,
  { path }: SeededRoute,
  { headers = {}, body = CHAT, query = "", signal }: ChatCall = {},
): Promise<Response> {
  return fetch(proxyUrl + path + query, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
    signal: signal ?? null,
  });
}

export const STREAMED_CHAT = { ...CHAT, stream: true };

/** Returns all log records so far. */
export function logRecords({ output }: RunningGatehouse): ApiResponse["body"][] {
  return output()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"))
    .map((line) => JSON.parse(line));
}

/** Resolves to the first log record with this message and these fields when it is written. */
export function logged(
  gatehouse: RunningGatehouse,
  message: string,
  fields: Fields = {},
): Promise<ApiResponse["body"]> {
  return waitFor(
    () =>
      logRecords(gatehouse).find(
        (line) =>
          line.msg === message && Object.entries(fields).every(([name, value]) => line[name] === value),
      ) ?? null,
  );
}

/** Returns a rate_limiter entry with these limits: `{ per_ip: [2, "1m"] }`. */
export function limiter(
  limits: Readonly<Record<string, readonly [limit: number, window: string]>>,
  settings: Fields = {},
  fields: Fields = {},
): Fields {
  const configured = Object.entries(limits).map(([type, [limit, window]]) => [type, { limit, window }]);
  return {
    name: "rate_limiter",
    stage: "pre_request",
    settings: { limits: Object.fromEntries(configured), ...settings },
    ...fields,
  };
}

/** Counts responses by status. */
export function countStatuses(statuses: readonly number[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const status of statuses) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
