// Table of logged requests, one line per request.
import type { JSX, TargetedKeyboardEvent } from "preact";
import type { RequestRecord } from "../api/item-types.ts";
import { Badge, statusTone } from "./badge.tsx";
import { ChosenTable } from "./chosen-table.tsx";
import { formatCost, formatCount, formatMs, Time } from "./format.tsx";
import { OUTCOMES } from "./labels.ts";

interface RequestTableProps {
  readonly records: readonly RequestRecord[];
  readonly onOpen: (requestId: string) => void;
}

/** Id of the button that opens a request. It gets the focus back when the request is closed. */
export function requestButtonId(requestId: string): string {
  return `request-${requestId}`;
}

export function RequestTable({ records, onOpen }: RequestTableProps): JSX.Element {
  const slowest = Math.max(1, ...records.map(({ timings }) => timings.total_ms));
  return (
    <div onKeyDown={moveSelection}>
      <ChosenTable
        label="Requests"
        rows={records}
        keyOf={({ request_id, time }) => request_id + time}
        isDense
        columns={[
          { title: "Time", width: "104px", cell: ({ time }) => <Time at={time} /> },
          {
            title: "Request",
            kind: "main",
            width: "19%",
            cell: ({ request_id, method, path, mcp }) => (
              <button
                type="button"
                id={requestButtonId(request_id)}
                class="link-button"
                onClick={() => onOpen(request_id)}
              >
                <span class="muted">{method}</span> {path} {mcp?.tool ?? mcp?.method}
              </button>
            ),
          },
          { title: "Status", width: "17%", cell: (record) => <Status record={record} /> },
          { title: "Target", width: "15%", cell: (record) => <Targets record={record} /> },
          { title: "Model", width: "10%", cell: ({ model }) => model ?? <span class="muted">–</span> },
          { title: "API key", cell: ({ api_key }) => api_key?.name ?? <span class="muted">None</span> },
          {
            title: "Tokens",
            kind: "number",
            width: "60px",
            cell: ({ tokens }) => (tokens === null ? "–" : formatCount(tokens.input + tokens.output)),
          },
          {
            title: "Cost",
            kind: "number",
            width: "88px",
            cell: ({ cost }) => (cost === null ? "–" : formatCost(cost)),
          },
          {
            title: "Duration",
            kind: "number",
            width: "82px",
            cell: ({ timings }) => <Duration ms={timings.total_ms} slowest={slowest} />,
          },
        ]}
      />
    </div>
  );
}

/** Arrow keys, Home and End move between the requests of the table. */
function moveSelection(event: TargetedKeyboardEvent<HTMLDivElement>): void {
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>("button.link-button")];
  const at = buttons.findIndex((button) => button === document.activeElement);
  const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: buttons.length - 1 }[event.key];
  if (at === -1 || to === undefined) return;
  event.preventDefault();
  buttons[to]?.focus();
}

/** The duration with a bar that compares it with the slowest request of the table. */
function Duration({ ms, slowest }: { readonly ms: number; readonly slowest: number }): JSX.Element {
  return (
    <span class="duration-bar">
      {formatMs(ms)}
      <span aria-hidden="true" style={{ width: `${Math.max(2, (ms / slowest) * 100)}%` }} />
    </span>
  );
}

function Status({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { status, outcome, error_code, attempts } = record;
  const detail = error_code ?? (outcome === "complete" ? null : OUTCOMES[outcome]);
  return (
    <>
      {/* Color is for exceptions, so that they stand out. */}
      {status < 400 ? (
        <span class="plain-status">{status}</span>
      ) : (
        <Badge tone={statusTone(status)}>{status}</Badge>
      )}
      {attempts.length > 1 && (
        <>
          {" "}
          <Badge tone="warning">Failover</Badge>
        </>
      )}
      {detail !== null && (
        <span class="muted" title={detail}>
          {" "}
          {detail}
        </span>
      )}
    </>
  );
}

/** The target, or the sequence of targets after a failover. */
function Targets({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { attempts, provider } = record;
  if (attempts.length <= 1) return <>{provider ?? <span class="muted">None</span>}</>;
  const sequence = attempts.map((attempt) => attempt.provider).join(" → ");
  return <span title={sequence}>{sequence}</span>;
}
