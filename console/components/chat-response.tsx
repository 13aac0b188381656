// Response to a chat request as it arrives, with its status, target, model, tokens, cost, and timings.
import type { JSX } from "preact";
import type { RequestRecord } from "../api/item-types.ts";
import type { ChatProgress } from "../state/chat.ts";
import { Badge, statusTone } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { pretty } from "./code.tsx";
import { Empty, Notice } from "./notice.tsx";
import { formatCost, formatCount, formatMs } from "./format.tsx";
import { Waterfall } from "./waterfall.tsx";

interface ChatResponseProps {
  readonly progress: ChatProgress | null;
  /** The gateway's request log entry; null until it exists, and if the log is off. */
  readonly record: RequestRecord | null;
  readonly isRunning: boolean;
}

export function ChatResponse({ progress, record, isRunning }: ChatResponseProps): JSX.Element {
  if (progress === null && !isRunning)
    return <Empty title="No response yet">Send a request to see the response here.</Empty>;
  const { status = null, text = "", raw = "", error = null } = progress ?? {};
  const isText = text !== "";
  return (
    <section class="card chat-response" aria-label="Response" aria-busy={isRunning}>
      <header>
        {status !== null && <Badge tone={statusTone(status)}>{status}</Badge>}
        <span class="muted" role="status">
          {isRunning ? (status === null ? "Waiting for a response…" : "Receiving…") : "Done"}
        </span>
        {isRunning && <span class="spinner" aria-hidden="true" />}
      </header>
      {error !== null && (
        <Notice kind="error">
          <p>{error}</p>
          <Hint status={status} />
        </Notice>
      )}
      {isText && <p class="response-text">{text}</p>}
      {progress !== null && <ResponseStats progress={progress} record={record} />}
      {record !== null && (
        <>
          <Waterfall record={record} />
          <div class="actions">
            <LinkButton
              to={`/gateways/${record.gateway_id ?? ""}/requests?request=${encodeURIComponent(record.request_id)}`}
              icon="requests"
            >
              Open in request log
            </LinkButton>
          </div>
        </>
      )}
      {raw !== "" && (
        <details class="disclosure" open={!isText && error === null && !isRunning}>
          <summary>Raw response</summary>
          <pre class="body" tabIndex={0}>
            {pretty(raw)}
          </pre>
        </details>
      )}
    </section>
  );
}

/** Suggests a fix for the errors that are common on a first try. */
function Hint({ status }: { readonly status: number | null }): JSX.Element | null {
  if (status === 401) return <p>Select an API key of this gateway, or create one.</p>;
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

function ResponseStats({
  progress,
  record,
}: {
  readonly progress: ChatProgress;
  readonly record: RequestRecord | null;
}): JSX.Element {
  const { headers, input, output, headersMs, firstTextMs, totalMs } = progress;
  const stats: readonly (readonly [label: string, value: string | null])[] = [
    ["Target", record?.provider ?? headers?.get("x-gw-provider") ?? null],
    ["Model", record?.model ?? headers?.get("x-gw-model") ?? null],
    ["Attempts", headers?.get("x-gw-attempts") ?? null],
    ["First byte", headersMs === null ? null : formatMs(headersMs)],
    ["First token", firstTextMs === null ? null : formatMs(firstTextMs)],
    ["Total", totalMs === null ? null : formatMs(totalMs)],
    ["Tokens", formatTokens(record?.tokens?.input ?? input, record?.tokens?.output ?? output)],
    ["Cost", record === null || record.cost === null ? null : formatCost(record.cost)],
  ];
  const timing = headers?.get("server-timing");
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
      {record === null && timing !== null && timing !== undefined && (
        <div>
          <dt>Server timing</dt>
          <dd>{formatServerTiming(timing)}</dd>
        </div>
      )}
    </dl>
  );
}

function formatTokens(input: number | null, output: number | null): string | null {
  if (input === null && output === null) return null;
  return `${formatCount(input ?? 0)} in, ${formatCount(output ?? 0)} out`;
}

/** Formats `gw;dur=1.2, provider;dur=30` as "gw 1.2 ms, provider 30 ms". */
function formatServerTiming(header: string): string {
  return header
    .split(",")
    .map((part) => {
      const [, name = "", duration = ""] = /^\s*([^;]+).*?dur=([\d.]+)/.exec(part) ?? [];
      return name === "" ? "" : `${name} ${formatMs(Number(duration))}`;
    })
    .filter((part) => part !== "")
    .join(", ");
}
