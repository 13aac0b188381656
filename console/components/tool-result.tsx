// Outcome of a tool call: its content, structured content, or error, and how long it took.
import type { ComponentChildren, JSX } from "preact";
import { isRecord, textOf, type McpOutcome } from "../state/mcp-messages.ts";
import { Badge, statusTone } from "./badge.tsx";
import { LinkButton } from "./button.tsx";
import { pretty } from "./code.tsx";
import { formatCount, formatMs } from "./format.tsx";
import { Notice } from "./notice.tsx";

interface ToolResultProps {
  readonly gateway: string;
  readonly tool: string;
  readonly outcome: McpOutcome;
  readonly isRunning: boolean;
}

export function ToolResult({ gateway, tool, outcome, isRunning }: ToolResultProps): JSX.Element {
  const { status, requestId, result, error, raw, totalMs } = outcome;
  const content: readonly unknown[] = Array.isArray(result?.["content"]) ? result["content"] : [];
  const structured = result?.["structuredContent"];
  return (
    <section class="card chat-response" aria-label="Result" aria-busy={isRunning}>
      <header>
        <strong class="mono">{tool}</strong>
        {status !== null && <Badge tone={statusTone(status)}>{status}</Badge>}
        <span class="muted" role="status">
          {statusText(outcome, isRunning)}
        </span>
        {isRunning && <span class="spinner" aria-hidden="true" />}
        {totalMs !== null && <span class="muted">{formatMs(totalMs)}</span>}
      </header>
      {result?.["isError"] === true && (
        <Notice kind="warning">
          <p>The tool reports that the call failed. Agents see the content below.</p>
        </Notice>
      )}
      {content.map((part, index) => (
        <ContentPart key={index} part={part} />
      ))}
      {structured !== undefined && (
        <Titled title="Structured content">
          <pre class="body" tabIndex={0} aria-label="Structured content">
            {pretty(structured)}
          </pre>
        </Titled>
      )}
      {error !== null && (
        <Notice kind="error">
          <p>{error}</p>
          {requestId !== null && (
            <p>
              Request id: <code>{requestId}</code>
            </p>
          )}
        </Notice>
      )}
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
      {raw !== "" && (
        <details class="disclosure">
          <summary>Raw response</summary>
          <pre class="body" tabIndex={0} aria-label="Raw response">
            {pretty(raw)}
          </pre>
        </details>
      )}
    </section>
  );
}

function statusText({ status, error, result, progress, isStopped }: McpOutcome, isRunning: boolean): string {
  if (isRunning) {
    if (progress !== null) return `Progress: ${progress}`;
    return status === null ? "Waiting for a response…" : "Receiving…";
  }
  if (isStopped) return "Stopped";
  return error === null && result?.["isError"] !== true ? "Done" : "Failed";
}

/** Nothing in a result is loaded or opened: addresses are text, and images and audio are described. */
function ContentPart({ part }: { readonly part: unknown }): JSX.Element {
  if (!isRecord(part)) return <Part title="Content" text={pretty(part)} />;
  const { type, text, mimeType, data, resource, uri } = part;
  if (type === "text" && typeof text === "string") return <Part title="Text" text={text} />;
  if ((type === "image" || type === "audio") && typeof data === "string")
    return (
      <Titled title={type === "image" ? "Image" : "Audio"}>
        <p>
          {textOf(mimeType, "unknown type")}, {formatCount(Math.floor((data.length * 3) / 4))} bytes, not
          shown.
        </p>
      </Titled>
    );
  if (type === "resource" && isRecord(resource) && typeof resource["text"] === "string")
    return <Part title={`Resource ${textOf(resource["uri"])}`} text={resource["text"]} />;
  if (type === "resource_link") return <Part title={`Link to resource ${textOf(uri)}`} text={pretty(part)} />;
  return <Part title="Content" text={pretty(part)} />;
}

function Part({ title, text }: { readonly title: string; readonly text: string }): JSX.Element {
  return (
    <Titled title={title}>
      <pre class="body" tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </Titled>
  );
}

interface TitledProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

function Titled({ title, children }: TitledProps): JSX.Element {
  return (
    <div>
      <h3>{title}</h3>
      {children}
    </div>
  );
}
