// State of the playground: its draft, the chat requests built from it, and the data it needs from the API.
import { findRequest, listChildren, listKeys } from "../api/resources.ts";
import type { RequestRecord } from "../api/item-types.ts";
import type { ApiKey, Rule, Service, Upstream } from "../api/types.ts";
import type { ChatCall } from "./chat.ts";
import { keyState } from "./key-state.ts";
import { knownKeys } from "./known-keys.ts";

export interface PlaygroundData {
  /** Active rules that lead to models. */
  readonly rules: readonly Rule[];
  readonly services: readonly Service[];
  readonly upstreams: readonly Upstream[];
  /** Active API keys only. */
  readonly keys: readonly ApiKey[];
}

/** Where a playground sends its requests, and as which client. */
export interface RouteDraft {
  readonly rule: string;
  readonly path: string;
  /** Id of an API key, null for none, or `PASTED_KEY`. */
  readonly key: string | null;
  readonly pastedKey: string;
}

export interface Draft extends RouteDraft {
  readonly model: string;
  /** Whether each message is also sent to `secondModel`. */
  readonly isCompared: boolean;
  readonly secondModel: string;
  readonly system: string;
  readonly message: string;
  readonly isStreamed: boolean;
  readonly temperature?: number;
  readonly topP?: number;
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  /** JSON; a string if it is invalid. */
  readonly tools?: unknown;
  /** Further fields of the request; a string if the JSON is invalid. */
  readonly further?: unknown;
}

/** Value of `Draft.key` for a key that is not in the list. */
export const PASTED_KEY = "pasted";

const RECORD_TRIES = 8;
const RECORD_RETRY_MS = 250;

export async function loadPlaygroundData(gateway: string, signal: AbortSignal): Promise<PlaygroundData> {
  const [rules, services, upstreams, keys] = await Promise.all([
    listChildren(gateway, "rules", signal),
    listChildren(gateway, "services", signal),
    listChildren(gateway, "upstreams", signal),
    listKeys(gateway, signal),
  ]);
  // A rule that leads to MCP servers has no models.
  const leading = new Set(services.flatMap(({ id, type }) => (type === "mcp" ? [] : [id])));
  return {
    rules: rules.filter(({ active, service_id }) => active && leading.has(service_id)),
    services,
    upstreams,
    keys: keys.filter((key) => keyState(key) === "active"),
  };
}

/** Selects `wantedKeyId`, else a key that was created in this tab. */
export function initialDraft({ rules, keys }: PlaygroundData, wantedKeyId: string | null): Draft {
  const key = keys.find(({ id }) => knownKeys.value.has(id) && (wantedKeyId === null || id === wantedKeyId));
  // Chat requests use POST, so prefer a rule that allows it.
  const rule = rules.find(allowsPost) ?? rules[0];
  return {
    rule: rule?.id ?? "",
    path: rule === undefined ? "" : chatPathOf(rule),
    key: key?.id ?? null,
    pastedKey: "",
    model: "",
    isCompared: false,
    secondModel: "",
    system: "",
    stop: [],
    message: "Say hello in one sentence.",
    isStreamed: true,
  };
}

function allowsPost({ methods }: Pick<Rule, "methods">): boolean {
  return methods.some((method) => method === "POST" || method === "*");
}

/** Path of a chat request to a rule. A rule for a prefix serves a whole API; the path in it names the operation. */
export function chatPathOf({ path }: Pick<Rule, "path">): string {
  if (!path.endsWith("/*")) return path;
  return path === "/*" ? "/v1/chat/completions" : path.replace(/\*$/, "chat/completions");
}

export function toChatCall(
  draft: Draft,
  { rules }: PlaygroundData,
  model: string,
  messages: readonly unknown[],
): ChatCall {
  const { path, isStreamed, temperature, topP, maxTokens, stop, tools, further } = draft;
  const rule = rules.find(({ id }) => id === draft.rule);
  return {
    method: rule === undefined || allowsPost(rule) ? "POST" : (rule.methods[0] ?? "POST"),
    path,
    headers: { "Content-Type": "application/json", ...clientHeaders(draft, rule) },
    body: {
      ...(model.trim() !== "" && { model: model.trim() }),
      messages,
      ...(temperature !== undefined && { temperature }),
      ...(topP !== undefined && { top_p: topP }),
      ...(maxTokens !== undefined && { max_tokens: maxTokens }),
      ...(stop.length > 0 && { stop }),
      ...(Array.isArray(tools) && tools.length > 0 && { tools }),
      ...(isStreamed && { stream: true, stream_options: { include_usage: true } }),
      ...(typeof further === "object" && further),
    },
  };
}

/** Returns the API key in its header, and the headers that the rule requires. */
export function clientHeaders(draft: RouteDraft, rule: Rule | undefined): Readonly<Record<string, string>> {
  const key = keyOf(draft);
  const requiredHeaders = Object.entries(rule?.headers ?? {}).map(
    ([name, value]) => [name, value === "*" ? "any" : value] as const,
  );
  return { ...(key !== "" && { "X-GW-API-Key": key }), ...Object.fromEntries(requiredHeaders) };
}

/** Returns what is wrong with the further fields; null if nothing is. */
export function problemOfFurther(further: unknown): string | null {
  if (further === undefined) return null;
  if (typeof further === "string") return "Not sent, because the JSON is invalid.";
  return typeof further === "object" && further !== null && !Array.isArray(further)
    ? null
    : "Must be an object: { … }.";
}

/** The API key to send; empty for none. */
function keyOf({ key, pastedKey }: RouteDraft): string {
  if (key === null) return "";
  return knownKeys.value.get(key) ?? pastedKey.trim();
}

/** Models of the targets behind a rule. */
export function modelsFor(ruleId: string, { rules, services, upstreams }: PlaygroundData): readonly string[] {
  const rule = rules.find(({ id }) => id === ruleId);
  const service = services.find(({ id }) => id === rule?.service_id);
  const upstream = upstreams.find(({ id }) => id === service?.upstream_id);
  const models = (upstream?.targets ?? []).flatMap((target) => [target.default_model, ...target.models]);
  return [...new Set(models.filter((model) => model !== null))];
}

/** Waits for the log entry of a request, which is written shortly after its response. Null if the log is off. */
export async function waitForRecord(gateway: string, id: string): Promise<RequestRecord | null> {
  for (let tries = 0; tries < RECORD_TRIES; tries++) {
    try {
      const record = await findRequest(gateway, id);
      if (record !== null) return record;
    } catch {
      return null;
    }
    await new Promise((resolve) => setTimeout(resolve, RECORD_RETRY_MS));
  }
  return null;
}
