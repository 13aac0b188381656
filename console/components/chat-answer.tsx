// The answer to a chat as it arrives, and what can be told about it: status, target, model, tokens, cost, times.
import type { JSX } from "preact";
import type { RequestRecord } from "../api/observed.ts";
import type { ChatProgress } from "../state/chat.ts";
import { Badge, toneOfStatus } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { pretty } from "./code.tsx";
import { Empty, Notice } from "./notice.tsx";
import { formatCost, formatCount, formatMs } from "./time.tsx";
import { Waterfall } from "./waterfall.tsx";

export interface ChatAnswerProps {
  readonly progress: ChatProgress | null;
  /** What the gateway itself recorded; null before that, and where it records nothing. */
  readonly record: RequestRecord | null;
  readonly isRunning: boolean;
}

export function ChatAnswer({ progress, record, isRunning }: ChatAnswerProps): JSX.Element {
  if (progress === null && !isRunning)
    return <Empty title="No answer yet">Press Send, and the answer shows here as it arrives.</Empty>;
  const { status = null, text = "", raw = "", fault = null } = progress ?? {};
  const isText = text !== "";
  return (
    <section class="card answer" aria-label="Answer" aria-busy={isRunning}>
      <header>
        {status !== null && <Badge tone={toneOfStatus(status)}>{status}</Badge>}
        <span class="soft" role="status">
          {isRunning ? (status === null ? "Waiting for the gateway…" : "Arriving…") : "Done"}
        </span>
        {isRunning && <span class="spinner" aria-hidden="true" />}
      </header>
      {fault !== null && (
        <Notice kind="fault">
          <p>{fault}</p>
          <Hint status={status} />
        </Notice>
      )}
      {isText && <p class="said">{text}</p>}
      {progress !== null && <Figures progress={progress} record={record} />}
      {record !== null && (
        <>
          <Waterfall record={record} />
          <div class="actions">
            <LinkButton
              to={`/gateways/${record.gateway_id ?? ""}/requests?request=${encodeURIComponent(record.request_id)}`}
              icon="requests"
            >
              Open the request
            </LinkButton>
          </div>
        </>
      )}
      {raw !== "" && (
        <details class="more" open={!isText && fault === null && !isRunning}>
          <summary>As it came</summary>
          <pre class="body" tabIndex={0}>
            {pretty(raw)}
          </pre>
        </details>
      )}
    </section>
  );
}

/** What usually helps, for the answers that a first try meets. */
function Hint({ status }: { readonly status: number | null }): JSX.Element | null {
  if (status === 401) return <p>Choose an API key of this gateway, or make one.</p>;
  if (status === 502)
    return <p>Is the provider running and its address right? A stand-in provider must be started by hand.</p>;
  if (status === 400) return <p>Where several gateways have this path, an API key tells which is meant.</p>;
  return null;
}

function Figures({
  progress,
  record,
}: {
  readonly progress: ChatProgress;
  readonly record: RequestRecord | null;
}): JSX.Element {
  const { headers, input, output, headersMs, firstTextMs, totalMs } = progress;
  const figures: readonly (readonly [label: string, value: string | null])[] = [
    ["Target", record?.provider ?? headers?.get("x-gw-provider") ?? null],
    ["Model", record?.model ?? headers?.get("x-gw-model") ?? null],
    ["Attempts", headers?.get("x-gw-attempts") ?? null],
    ["First byte", headersMs === null ? null : formatMs(headersMs)],
    ["First words", firstTextMs === null ? null : formatMs(firstTextMs)],
    ["In all", totalMs === null ? null : formatMs(totalMs)],
    ["Tokens", sayTokens(record?.tokens?.input ?? input, record?.tokens?.output ?? output)],
    ["Cost", record === null || record.cost === null ? null : formatCost(record.cost)],
  ];
  const timing = headers?.get("server-timing");
  return (
    <dl class="figures">
      {figures.map(
        ([label, value]) =>
          value !== null && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
      {record === null && timing !== null && timing !== undefined && (
        <div>
          <dt>Steps</dt>
          <dd>{sayTiming(timing)}</dd>
        </div>
      )}
    </dl>
  );
}

function sayTokens(input: number | null, output: number | null): string | null {
  if (input === null && output === null) return null;
  return `${formatCount(input ?? 0)} in, ${formatCount(output ?? 0)} out`;
}

/** `gw;dur=1.2, provider;dur=30` as "gw 1.2 ms, provider 30 ms". */
function sayTiming(header: string): string {
  return header
    .split(",")
    .map((part) => {
      const [, name = "", duration = ""] = /^\s*([^;]+).*?dur=([\d.]+)/.exec(part) ?? [];
      return name === "" ? "" : `${name} ${formatMs(Number(duration))}`;
    })
    .filter((part) => part !== "")
    .join(", ");
}
