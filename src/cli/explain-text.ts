// An explanation as text: one block a step, the decisive line of each first.
import type { Explanation } from "../model/explanation.ts";
import { pad, paint } from "./terminal.ts";

export interface AskedRequest {
  readonly method: string;
  readonly path: string;
  /** The gateway that was asked. */
  readonly gateway: { readonly id: string; readonly name: string };
}

const TITLE_WIDTH = 8;
const MAX_RULES = 10;
const MAX_BODY = 2000;

export function renderExplanation(explanation: Explanation, asked: AskedRequest): string {
  return [
    headline(explanation, asked),
    "",
    ...block("rule", rules(explanation)),
    ...block("key", key(explanation)),
    ...block("plugins", explanation.plugins.map(plugin)),
    ...block("limits", explanation.limits.map(limit)),
    ...block("targets", explanation.targets.map(target)),
    ...block("sends", sent(explanation)),
    ...block("answers", answered(explanation)),
  ].join("\n");
}

function headline({ gateway }: Explanation, asked: AskedRequest): string {
  const line = `${paint("bold", `${asked.method} ${asked.path}`)} at the gateway ${gateway?.name ?? "none"}`;
  if (gateway === null || gateway.id === asked.gateway.id) return line;
  return `${line} ${paint("yellow", `(the request's own word leads there, not to ${asked.gateway.name})`)}`;
}

function block(title: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `${paint("dim", pad(index === 0 ? title : "", TITLE_WIDTH))} ${line}`);
}

const yes = () => paint("green", "✓");
const no = () => paint("red", "✗");
const skipped = () => paint("dim", "·");

function rules({ rules: all, rule }: Explanation): string[] {
  const serving =
    rule === null ? `${no()} none` : `${yes()} ${rule.path}${rule.name === null ? "" : ` "${rule.name}"`}`;
  const others = all.filter(({ matched }) => !matched);
  const lines = others.slice(0, MAX_RULES).map(({ path, reason }) => `${skipped()} ${path}: ${reason}`);
  if (others.length > MAX_RULES) lines.push(paint("dim", `… and ${others.length - MAX_RULES} more (--json)`));
  return [serving, ...lines];
}

function key({ authentication: { verdict, api_key, reason } }: Explanation): string[] {
  const whose = api_key === null ? "" : `${api_key.name}: `;
  return [`${verdict === "allowed" ? yes() : no()} ${whose}${reason}`];
}

function plugin({ name, stage, verdict, detail }: Explanation["plugins"][number]): string {
  const sign = { passed: yes, changed: yes, answered: no, failed: no, not_run: skipped }[verdict]();
  const word = verdict === "not_run" ? "not run" : verdict;
  const place = stage === "pre_request" ? "" : ` (${stage})`;
  return `${sign} ${name}${place} ${word}${detail === null ? "" : `: ${detail}`}`;
}

function limit({ type, limit: most, remaining, window, reset }: Explanation["limits"][number]): string {
  return `${remaining > 0 ? yes() : skipped()} ${type}: ${remaining} of ${most} in ${window} left after it, the oldest leaves at ${reset}`;
}

function target(each: Explanation["targets"][number]): string {
  const sign = each.next ? paint("green", "→") : each.eligible ? yes() : skipped();
  const numbers = `priority ${each.priority}, weight ${each.weight}, ${each.state}`;
  const model = each.model === null ? "" : `, model ${each.model}`;
  return `${sign} ${each.provider} (${numbers}${model}): ${each.reason}`;
}

function sent({ upstream_request: request }: Explanation): string[] {
  if (request === null) return [];
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `${paint("dim", `${name}:`)} ${value}`,
  );
  const lines = [`${request.method} ${request.url}`, ...headers];
  if (request.body === null) return lines;
  const text = request.body.slice(0, MAX_BODY);
  const rest = request.body.length - text.length;
  return [...lines, ...text.split("\n"), ...(rest > 0 ? [paint("dim", `… and ${rest} more (--json)`)] : [])];
}

function answered({ answer }: Explanation): string[] {
  if (answer === null) return [];
  const { status, code, error } = answer;
  const words = [code, error].filter((word) => word !== null).join(": ");
  return [paint(status < 400 ? "green" : "red", `${status} ${words}`.trim())];
}
