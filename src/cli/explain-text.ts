// Renders an explanation as text: one block per step, the decisive line first.
import type { Explanation, Replay } from "../model/explanation.ts";
import { pad, paint } from "./terminal.ts";

interface ExplainedRequest {
  readonly method: string;
  readonly path: string;
  /** The gateway that the command was run for. */
  readonly gateway: { readonly id: string; readonly name: string };
}

const TITLE_WIDTH = 9;
const MAX_RULES = 10;
const MAX_BODY = 2000;

export function renderExplanation(explanation: Explanation, request: ExplainedRequest): string {
  return [
    headline(explanation, request),
    "",
    ...block("rule", rules(explanation)),
    ...block("unguarded", unguarded(explanation)),
    ...block("operation", explanation.operation === null ? [] : [explanation.operation]),
    ...block("key", key(explanation)),
    ...block("plugins", explanation.plugins.map(plugin)),
    ...block("limits", explanation.limits.map(limit)),
    ...block("budgets", explanation.budgets.map(budget)),
    ...block("game day", gameDay(explanation)),
    ...block("model", virtualModel(explanation)),
    ...block("mcp", mcp(explanation)),
    ...block("targets", explanation.targets.map(target)),
    ...block("upstream", [...upstreamRequest(explanation), ...hedge(explanation), ...onCancel(explanation)]),
    ...block("response", response(explanation)),
  ].join("\n");
}

export function renderReplay(replay: Replay, gateway: ExplainedRequest["gateway"]): string {
  const { method, path } = replay.request;
  const { status, error_code, time } = replay.recorded;
  return [
    renderExplanation(replay.explanation, { method, path, gateway }),
    ...block("recorded", [
      `${status}${error_code === null ? "" : ` ${error_code}`} at ${time}`,
      ...replay.not_recorded,
    ]),
  ].join("\n");
}

function headline({ gateway }: Explanation, request: ExplainedRequest): string {
  const line = `${paint("bold", `${request.method} ${request.path}`)} at gateway ${gateway?.name ?? "none"}`;
  if (gateway === null || gateway.id === request.gateway.id) return line;
  return `${line} ${paint("yellow", `(selected by the request itself instead of ${request.gateway.name})`)}`;
}

function block(title: string, lines: readonly string[]): string[] {
  return lines.map((line, index) => `${paint("dim", pad(index === 0 ? title : "", TITLE_WIDTH))} ${line}`);
}

const yes = () => paint("green", "✓");
const no = () => paint("red", "✗");
const skipped = () => paint("dim", "·");

/** A gateway of an older version sends none. */
function unguarded({ unguarded: transports = [] }: Partial<Explanation>): string[] {
  return transports.length === 0 ? [] : [paint("yellow", transports.join(", "))];
}

/** A gateway of an older version sends none. */
function gameDay({ game_day = null }: Partial<Explanation>): string[] {
  if (game_day === null) return [];
  const { name, share, faults } = game_day;
  return [
    `${paint("yellow", name)} may affect ${share === 1 ? "the request" : `${share * 100} % of such requests`}: ${faults.join(", ")}`,
  ];
}

function virtualModel({ virtual_model: model }: Explanation): string[] {
  if (model === null) return [];
  const { name, requested, strategy, fallback, targets } = model;
  const served = model.canary === null ? "" : `, ${model.canary}`;
  const head = `${requested === name ? name : `${requested} is ${name}`}, ${strategy}${served}`;
  const instead = fallback === null ? [] : [`${no()} ${fallback.name} is used instead (${fallback.reason})`];
  const lines = targets.map(({ next, eligible, virtual_model, upstream, model: sent, reason }) => {
    const mark = next ? yes() : eligible ? skipped() : no();
    return `${mark} ${virtual_model === name ? "" : `${virtual_model}: `}${sent} at ${upstream}: ${reason}`;
  });
  return [head, ...instead, ...lines, ...mirrorLines(model)];
}

/** A gateway of an older version sends none. */
function mirrorLines({ mirror = null }: Partial<NonNullable<Explanation["virtual_model"]>>): string[] {
  if (mirror === null) return [];
  const { copied, model, upstream, reason } = mirror;
  return [`${copied === true ? yes() : skipped()} mirror ${model} at ${upstream}: ${reason}`];
}

/** A gateway of an older version sends none. */
function mcp({ mcp: explained = null }: Partial<Explanation>): string[] {
  if (explained === null) return [];
  const { method, tool, allowed, reason, servers } = explained;
  const sign = allowed === null ? skipped() : allowed ? yes() : no();
  return [
    `${sign} ${method}${tool === null ? "" : ` ${tool}`}: ${reason}`,
    ...servers.map(
      ({ name, next, reason: why }) => `${next ? paint("green", "→") : skipped()} ${name}: ${why}`,
    ),
  ];
}

function rules({ rules: all, rule }: Explanation): string[] {
  const serving =
    rule === null ? `${no()} none` : `${yes()} ${rule.path}${rule.name === null ? "" : ` "${rule.name}"`}`;
  const others = all.filter(({ matched }) => !matched);
  const lines = others.slice(0, MAX_RULES).map(({ path, reason }) => `${skipped()} ${path}: ${reason}`);
  if (others.length > MAX_RULES) lines.push(paint("dim", `… and ${others.length - MAX_RULES} more (--json)`));
  return [serving, ...lines];
}

function key({ authentication: { verdict, api_key, reason } }: Explanation): string[] {
  const name = api_key === null ? "" : `${api_key.name}: `;
  return [`${verdict === "allowed" ? yes() : no()} ${name}${reason}`];
}

function plugin({ name, stage, verdict, detail, isolation }: Explanation["plugins"][number]): string {
  const sign = { passed: yes, changed: yes, answered: no, failed: no, not_run: skipped }[verdict]();
  const outcome = verdict === "not_run" ? "not run" : verdict === "answered" ? "responded" : verdict;
  const suffix = stage === "pre_request" ? "" : ` (${stage})`;
  const place =
    isolation === undefined ? "" : ` in a ${isolation === "worker" ? "worker thread" : "process"}`;
  return `${sign} ${name}${suffix}${place} ${outcome}${detail === null ? "" : `: ${detail}`}`;
}

function limit({ type, limit: max, remaining, window, reset }: Explanation["limits"][number]): string {
  return `${remaining > 0 ? yes() : skipped()} ${type}: ${remaining} of ${max} in ${window} remaining after this request; the oldest request expires at ${reset}`;
}

function budget({
  name,
  subject,
  unit,
  requested,
  remaining,
  resets_at,
  fits,
}: Explanation["budgets"][number]): string {
  const what = `${name}${subject === null ? "" : ` (${subject})`}`;
  const period = resets_at === null ? "" : `; the next period starts at ${resets_at}`;
  return `${fits ? yes() : no()} ${what}: ${requested} ${unit} requested, ${remaining} ${fits ? "remaining after this request" : "left"}${period}`;
}

function target(each: Explanation["targets"][number]): string {
  const sign = each.next ? paint("green", "→") : each.eligible ? yes() : skipped();
  const numbers = `priority ${each.priority}, weight ${each.weight}, ${each.state}`;
  const model = each.model === null ? "" : `, model ${each.model}`;
  const isCloud = each.credentials !== null && each.credentials !== "header";
  const credentials = isCloud ? `, credentials ${each.credentials}` : "";
  return `${sign} ${each.provider} (${numbers}${model}${credentials}): ${each.reason}`;
}

function upstreamRequest({ upstream_request: request }: Explanation): string[] {
  if (request === null) return [];
  const headers = Object.entries(request.headers).map(
    ([name, value]) => `${paint("dim", `${name}:`)} ${value}`,
  );
  const lines = [`${request.method} ${request.url}`, ...translation(request), ...headers];
  if (request.body === null) return lines;
  const text = request.body.slice(0, MAX_BODY);
  const rest = request.body.length - text.length;
  return [...lines, ...text.split("\n"), ...(rest > 0 ? [paint("dim", `… and ${rest} more (--json)`)] : [])];
}

function hedge({ hedge: explained }: Explanation): string[] {
  if (explained === null) return [];
  const { after_ms, reason } = explained;
  return [reason === null ? `hedged after ${after_ms ?? 0} ms without content` : `not hedged: ${reason}`];
}

function onCancel({ on_cancel }: Explanation): string[] {
  return on_cancel === "drain" ? ["read to its usage if the client leaves"] : [];
}

function translation({ translation: formats }: NonNullable<Explanation["upstream_request"]>): string[] {
  if (formats === null) return [];
  const { request_format, target_format, response_format, dropped } = formats;
  const left = dropped.length === 0 ? "" : `, without ${dropped.join(", ")}`;
  return [
    `request translated from ${request_format} to ${target_format}${left}; response in the format ${response_format}`,
  ];
}

function response({ answer }: Explanation): string[] {
  if (answer === null) return [];
  const { status, code, error } = answer;
  const text = [code, error].filter((part) => part !== null).join(": ");
  return [paint(status < 400 ? "green" : "red", `${status} ${text}`.trim())];
}
