// Table of logged requests, one line per request.
import type { JSX } from "preact";
import type { RequestRecord } from "../api/item-types.ts";
import { Badge, statusTone } from "./badge.tsx";
import { formatCost, formatCount, formatMs, Time } from "./format.tsx";
import { OUTCOMES } from "./labels.ts";
import { Table } from "./table.tsx";

interface RequestTableProps {
  readonly records: readonly RequestRecord[];
  readonly onOpen: (requestId: string) => void;
}

export function RequestTable({ records, onOpen }: RequestTableProps): JSX.Element {
  return (
    <Table
      label="Requests"
      rows={records}
      keyOf={({ request_id, time }) => request_id + time}
      isDense
      columns={[
        { title: "Time", width: "90px", cell: ({ time }) => <Time at={time} /> },
        {
          title: "Request",
          kind: "main",
          width: "19%",
          cell: ({ request_id, method, path }) => (
            <button type="button" class="link-button" onClick={() => onOpen(request_id)}>
              <span class="muted">{method}</span> {path}
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
          width: "78px",
          cell: ({ cost }) => (cost === null ? "–" : formatCost(cost)),
        },
        {
          title: "Duration",
          kind: "number",
          width: "82px",
          cell: ({ timings }) => formatMs(timings.total_ms),
        },
      ]}
    />
  );
}

function Status({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { status, outcome, error_code, attempts } = record;
  const detail = error_code ?? (outcome === "complete" ? null : OUTCOMES[outcome]);
  return (
    <>
      <Badge tone={statusTone(status)}>{status}</Badge>
      {attempts.length > 1 && <Badge tone="warning">Failover</Badge>}
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
