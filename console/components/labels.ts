// Labels and badge tones for enum values of the API, such as a request's `outcome` or an attempt's `fault`.
import type { PluginRun, RequestRecord, TargetHealth } from "../api/item-types.ts";
import type { Explanation, PluginConfig, Rule } from "../api/types.ts";
import type { Tone } from "./badge.tsx";

interface Label {
  readonly text: string;
  readonly tone: Tone;
}

export const TARGET_STATES: Readonly<Record<TargetHealth["state"], Label>> = {
  healthy: { text: "Healthy", tone: "good" },
  out: { text: "Ejected", tone: "bad" },
  trial: { text: "Trial request", tone: "warning" },
  resting: { text: "Paused (429)", tone: "warning" },
};

/** Fewer failures in a row may be a coincidence. */
const CLEARLY_FAILING = 3;

/**
 * Returns the state of a target by its health and by its last requests: without passive health checks, or below their
 * threshold, a target that fails every request still counts as healthy. Null if nothing is known about it.
 */
export function targetStateLabel(health: TargetHealth | null): Label | null {
  if (health === null) return null;
  const { state, recent_failures: failures } = health;
  if (state !== "healthy") return TARGET_STATES[state];
  if (failures === null) return null;
  if (failures > 0) return { text: "Failing", tone: failures < CLEARLY_FAILING ? "warning" : "bad" };
  return TARGET_STATES.healthy;
}

type Verdict = PluginRun["verdict"] | Explanation["plugins"][number]["verdict"];

export const PLUGIN_VERDICTS: Readonly<Record<Verdict, Label>> = {
  passed: { text: "Passed", tone: "good" },
  changed: { text: "Changed", tone: "accent" },
  answered: { text: "Responded", tone: "warning" },
  failed: { text: "Failed", tone: "bad" },
  not_run: { text: "Not run", tone: "neutral" },
};

export const OUTCOMES: Readonly<Record<RequestRecord["outcome"], string>> = {
  complete: "Complete",
  refused: "Rejected",
  failed: "Failed",
  incomplete: "Incomplete",
  client_left: "Client disconnected",
};

export const MCP_OUTCOMES: Readonly<Record<NonNullable<RequestRecord["mcp"]>["outcome"], string>> = {
  ok: "OK",
  tool_error: "The tool reports an error",
  error: "The server responded with an error",
  unknown: "Not offered to this client",
  refused: "Rejected",
  failed: "The server did not respond as expected",
  canceled: "Canceled",
};

const ATTEMPT_ERRORS: Readonly<Record<string, string>> = {
  unreachable: "Unreachable",
  broken: "Connection closed",
  cut: "Response cut off",
  invalid: "Invalid response",
  connect_timeout: "Connect timeout",
  first_byte_timeout: "First byte timeout",
  idle_timeout: "Idle timeout",
  total_timeout: "Total timeout",
  forbidden: "Forbidden address",
  credentials: "No credentials",
  client_left: "Client disconnected",
};

/** Label of an attempt's `fault`. */
export function attemptErrorLabel(fault: string): string {
  return ATTEMPT_ERRORS[fault] ?? fault.replaceAll("_", " ");
}

const LIMIT_TYPES: Readonly<Record<string, string>> = {
  per_ip: "IP address",
  per_user: "User",
  per_tool: "Tool",
  per_fingerprint: "Client fingerprint",
  per_key: "API key",
  per_model: "Model",
  global: "All clients",
};

export const ON_ERROR_LABELS: Readonly<Record<PluginConfig["on_error"], string>> = {
  fail: "Fail the request",
  continue: "Continue the request",
};

export const PLUGIN_MODE_LABELS: Readonly<Record<PluginConfig["mode"], string>> = {
  enforce: "Takes effect",
  shadow: "Shadow: only record what it would do",
};

export const ISOLATION_LABELS: Readonly<Record<PluginConfig["isolation"], string>> = {
  inline: "In the gateway's process",
  worker: "In a worker thread",
  process: "In a process of its own",
};

export function ruleLabel({ path, name }: Pick<Rule, "path" | "name">): string {
  return name === null ? path : `${path} (${name})`;
}

/** Label of what a rate limit applies to, such as `per_ip`. */
export function limitTypeLabel(type: string): string {
  const label = /^per_label:(.+)$/.exec(type)?.[1];
  return label === undefined ? (LIMIT_TYPES[type] ?? type) : `Label ${label}`;
}
