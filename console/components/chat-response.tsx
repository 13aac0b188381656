// Response to a chat request as it arrives: text, tool calls, error, and below it model, tokens, cost, and timings.
import type { JSX } from "preact";
import type { Answer } from "../state/use-conversation.ts";
import { Badge, statusTone } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { pretty } from "./code.tsx";
import { formatCost, formatCount, formatMs } from "./format.tsx";
import { Notice } from "./notice.tsx";
import { unknownCostReason } from "./request-cost.ts";
import { Waterfall } from "./waterfall.tsx";

interface ChatResponseProps {
  readonly gateway: string;
  readonly answer: Answer;
  readonly label: string;
  /** Takes the result of a tool; null if the conversation has gone on. */
  readonly onResult: ((callId: string, text: string) => void) | null;
}

export function ChatResponse({ gateway, answer, label, onResult }: ChatResponseProps): JSX.Element {
  const { progress, record, isRunning, text, model } = answer;
  const { status, raw, headers } = progress;
  const requestId = record?.request_id ?? headers?.get("x-request-id") ?? null;
  const isEmpty = text === "" && answer.toolCalls.length === 0 && progress.error === null;
  return (
    <section class="card chat-response" aria-label={label} aria-busy={isRunning}>
      <header>
        {model !== "" && <strong class="mono">{model}</strong>}
        {status !== null && <Badge tone={statusTone(status)}>{status}</Badge>}
        <span class="muted" role="status">
          {statusText(answer)}
        </span>
        {isRunning && <span class="spinner" aria-hidden="true" />}
      </header>
      {text !== "" && <p class="response-text">{text}</p>}
      <ToolCalls answer={answer} onResult={isRunning ? null : onResult} />
      <ResponseError answer={answer} requestId={requestId} />
      {!isRunning && <ResponseStats answer={answer} />}
      {requestId !== null && !isRunning && (
        <div class="actions">
          <LinkButton
            to={`/gateways/${gateway}/requests?request=${encodeURIComponent(requestId)}`}
            icon="requests"
          >
            Open request
          </LinkButton>
        </div>
      )}
      {record !== null && (
        <details class="disclosure">
          <summary>Timing</summary>
          <Waterfall record={record} />
        </details>
      )}
      {raw !== "" && (
        <details class="disclosure" open={isEmpty && !isRunning}>
          <summary>Raw response</summary>
          <pre class="body" tabIndex={0} aria-label="Raw response">
            {pretty(raw)}
          </pre>
        </details>
      )}
    </section>
  );
}

function statusText({ isRunning, progress: { status, error, isStopped } }: Answer): string {
  if (isRunning) return status === null ? "Waiting for a response…" : "Receiving…";
  if (isStopped) return "Stopped";
  return error === null ? "Done" : "Failed";
}

function ToolCalls({ answer, onResult }: Pick<ChatResponseProps, "answer" | "onResult">): JSX.Element | null {
  const { toolCalls, results } = answer;
  if (toolCalls.length === 0) return null;
  return (
    <div class="fields">
      {toolCalls.map(({ id, name, arguments: given }, index) => (
        <div key={index} class="field tool-call">
          <p>
            Calls <code>{name}</code>
          </p>
          <pre class="body" tabIndex={0} aria-label={`Arguments of ${name}`}>
            {pretty(given)}
          </pre>
          {onResult === null ? (
            results[id] !== undefined && (
              <p class="hint">
                Result: <span class="mono">{results[id]}</span>
              </p>
            )
          ) : (
            <>
              <label for={`result-${id}`}>Result of {name}</label>
              <textarea
                id={`result-${id}`}
                class="input mono"
                rows={2}
                value={results[id] ?? ""}
                onInput={(event) => onResult(id, event.currentTarget.value)}
              />
            </>
          )}
        </div>
      ))}
    </div>
  );
}

function ResponseError(props: {
  readonly answer: Answer;
  readonly requestId: string | null;
}): JSX.Element | null {
  const { status, error } = props.answer.progress;
  if (error === null) return null;
  return (
    <Notice kind="error">
      <p>{error}</p>
      <Hint status={status} />
      {props.requestId !== null && (
        <p>
          Request id: <code>{props.requestId}</code>
        </p>
      )}
    </Notice>
  );
}

/** Suggests a fix for the errors that are common on a first try. */
function Hint({ status }: { readonly status: number | null }): JSX.Element | null {
  if (status === 401) return <p>Select an API key of this gateway, or create one.</p>;
  if (status === 402) return <p>A budget is used up. Open Budgets to see which.</p>;
  if (status === 502)
    return (
      <p>
        Check that the provider is running and that its base URL is correct. The fake provider must be started
        separately.
      </p>
    );
  if (status === 400) return <p>If several gateways have this path, an API key selects the gateway.</p>;
  return null;
}

function ResponseStats({ answer }: { readonly answer: Answer }): JSX.Element {
  const { progress, record } = answer;
  const { headers, input, output, firstTextMs, totalMs } = progress;
  const stats: readonly (readonly [label: string, value: string | null])[] = [
    ["Cost", costOf(answer)],
    ["First token", firstTextMs === null ? null : formatMs(firstTextMs)],
    ["Total", totalMs === null ? null : formatMs(totalMs)],
    ["Tokens", formatTokens(record?.tokens?.input ?? input, record?.tokens?.output ?? output)],
    ["Model", record?.model ?? headers?.get("x-gw-model") ?? null],
    ["Target", record?.provider ?? headers?.get("x-gw-provider") ?? null],
    ["Attempts", headers?.get("x-gw-attempts") ?? null],
  ];
  return (
    <dl class="stats">
      {stats.map(
        ([label, value]) =>
          value !== null && (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Null until the log entry is known. A request without a cost is not free. */
function costOf({ record }: Answer): string | null {
  if (record === null) return null;
  if (record.cost !== null) return formatCost(record.cost);
  return record.status !== null && record.status < 400 ? unknownCostReason(record.tokens) : null;
}

function formatTokens(input: number | null, output: number | null): string | null {
  if (input === null && output === null) return null;
  return `${formatCount(input ?? 0)} in, ${formatCount(output ?? 0)} out`;
}
