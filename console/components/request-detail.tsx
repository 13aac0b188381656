// Details of one logged request: result, timing, attempts, plugin runs, and bodies.
import { Fragment, type ComponentChildren, type JSX } from "preact";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { RequestAttempt, RequestRecord } from "../api/item-types.ts";
import { Link } from "../state/router.tsx";
import { Badge, statusTone } from "./badge.tsx";
import { CopyButton, LinkButton } from "./button.tsx";
import { Code, pretty } from "./code.tsx";
import { formatCost, formatCount, formatMs, Time } from "./format.tsx";
import { attemptErrorLabel, MCP_OUTCOMES, OUTCOMES } from "./labels.ts";
import { Notice } from "./notice.tsx";
import { Section } from "./page.tsx";
import { PluginTable } from "./plugin-table.tsx";
import { describeTokens, unknownCostReason } from "./request-cost.ts";
import { Table } from "./table.tsx";
import { TextWithCode } from "./text-with-code.tsx";
import { Waterfall } from "./waterfall.tsx";

export function RequestDetail({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { error_code, bodies } = record;
  return (
    <>
      {error_code !== null && (
        <Notice kind="warning">
          <p>
            <strong>{error_code}</strong>:{" "}
            <TextWithCode text={ERROR_MEANINGS[error_code] ?? "The gateway returned an error."} />
          </p>
        </Notice>
      )}
      <Properties record={record} />
      <Section title="Timing">
        <Waterfall record={record} />
      </Section>
      {record.mcp ? <McpCalls calls={record.mcp.calls} /> : <Attempts attempts={record.attempts} />}
      <Section title="Plugins">
        {record.plugins.length === 0 ? (
          <p class="muted">No plugin ran.</p>
        ) : (
          <PluginTable runs={record.plugins} hasDuration />
        )}
      </Section>
      {bodies !== undefined && (
        <Section title="Bodies">
          <h3>Request</h3>
          <Code text={pretty(bodies.request)} what="request body" />
          <h3>Response</h3>
          <Code text={pretty(bodies.response)} what="response body" />
        </Section>
      )}
      <div class="actions">
        <LinkButton
          to={`/gateways/${record.gateway_id ?? ""}/explain?request=${encodeURIComponent(record.request_id)}`}
          icon="explain"
        >
          Explain
        </LinkButton>
      </div>
    </>
  );
}

function Properties({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { timings } = record;
  return (
    <dl class="properties">
      <dt>Response</dt>
      <dd>
        <Badge tone={statusTone(record.status)}>{record.status}</Badge> {OUTCOMES[record.outcome]}
        {record.stream && ", streamed"}
        {record.drained && ", read to its usage"}
      </dd>
      <dt>Time</dt>
      <dd>
        <Time at={record.time} />
      </dd>
      <dt>Duration</dt>
      <dd>
        {formatMs(timings.total_ms)}
        {timings.first_byte_ms !== null && `, first byte after ${formatMs(timings.first_byte_ms)}`}
        {timings.first_token_ms !== null && `, first token after ${formatMs(timings.first_token_ms)}`}
      </dd>
      {timings.ms_per_output_token !== null && (
        <>
          <dt>Time per output token</dt>
          <dd>{formatMs(timings.ms_per_output_token)}</dd>
        </>
      )}
      {routingProperties(record).map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span class="muted">None</span>}</dd>
        </Fragment>
      ))}
      <dt>Request ID</dt>
      <dd>
        <code>{record.request_id}</code> <CopyButton text={record.request_id} what="request ID" />
      </dd>
      {record.mirror_of !== null && (
        <>
          <dt>Copy of</dt>
          <dd>
            <code>{record.mirror_of}</code> <CopyButton text={record.mirror_of} what="ID of the original" />
          </dd>
        </>
      )}
      {record.node !== undefined && (
        <>
          <dt>Node</dt>
          <dd>{record.node}</dd>
        </>
      )}
      <dt>Revision</dt>
      <dd>{record.revision}</dd>
    </dl>
  );
}

/** Where the request went and what it cost. A null value is shown as “None”. */
function routingProperties(
  record: RequestRecord,
): readonly (readonly [name: string, value: ComponentChildren])[] {
  const { rule, api_key, tokens, cost, model, requested_model } = record;
  const base = `/gateways/${record.gateway_id ?? ""}`;
  return [
    ["Rule", rule && <Link to={`${base}/rules/${rule.id}`}>{rule.path}</Link>],
    ["API key", api_key && <Link to={`${base}/keys/${api_key.id}`}>{api_key.name}</Link>],
    ["Operation", record.operation],
    ["Target", record.provider],
    [
      "Model",
      model === null || requested_model === null || requested_model === model
        ? model
        : `${model} (requested: ${requested_model})`,
    ],
    ["Translation", record.translation && describeTranslation(record.translation)],
    ...mcpProperties(record),
    ["Tokens", tokens && describeTokens(tokens, formatCount)],
    ["Cost", cost === null ? <span class="muted">{unknownCostReason(tokens)}</span> : formatCost(cost)],
  ];
}

/** Records of nodes of an older version have no `mcp`. */
function mcpProperties({
  mcp,
  gateway_id,
}: RequestRecord): readonly (readonly [name: string, value: ComponentChildren])[] {
  if (mcp === null || mcp === undefined) return [];
  const { server, error } = mcp;
  const path = `/gateways/${gateway_id ?? ""}/mcp-servers/${server?.id ?? ""}`;
  return [
    ["MCP method", mcp.method],
    ["Tool", mcp.tool],
    ["MCP server", server && <Link to={path}>{server.name}</Link>],
    ["MCP outcome", `${MCP_OUTCOMES[mcp.outcome]}${error === null ? "" : ` (${error})`}`],
    ["Protocol version", mcp.protocol_version],
    ["Refused messages", refusedMessages(mcp.refusals)],
  ];
}

/** Records of nodes of an older version have none. */
function refusedMessages(refusals: NonNullable<RequestRecord["mcp"]>["refusals"] | undefined): string | null {
  if (refusals === undefined || refusals.length === 0) return null;
  return refusals
    .map(({ server, method, code, count }) => `${server} ${method}: ${code}${count > 1 ? ` × ${count}` : ""}`)
    .join(", ");
}

function McpCalls({ calls }: { readonly calls: NonNullable<RequestRecord["mcp"]>["calls"] }): JSX.Element {
  return (
    <Section title="Requests to MCP servers">
      {calls.length === 0 ? (
        <p class="muted">No request was sent to a server.</p>
      ) : (
        <McpCallTable calls={calls} />
      )}
    </Section>
  );
}

function McpCallTable({
  calls,
}: {
  readonly calls: NonNullable<RequestRecord["mcp"]>["calls"];
}): JSX.Element {
  return (
    <Table
      label="Requests to MCP servers"
      rows={calls.map((call, index) => ({ ...call, index }))}
      keyOf={({ index }) => String(index)}
      columns={[
        { title: "Server", kind: "main", cell: ({ server, index }) => `${index + 1}. ${server}` },
        { title: "Method", cell: ({ method }) => method },
        {
          title: "Result",
          cell: ({ status, fault, error }) => (
            <>
              {status !== null && <Badge tone={statusTone(status)}>{status}</Badge>}
              {fault !== null && <Badge tone="bad">{attemptErrorLabel(fault)}</Badge>}
              {error !== null && <Badge tone="bad">{error}</Badge>}
            </>
          ),
        },
        { title: "Duration", kind: "number", cell: ({ ms }) => formatMs(ms) },
      ]}
    />
  );
}

function describeTranslation({ from, to, dropped }: NonNullable<RequestRecord["translation"]>): string {
  return `${from} → ${to}${dropped.length > 0 ? `, left out: ${dropped.join(", ")}` : ""}`;
}

function Attempts({ attempts }: { readonly attempts: readonly RequestAttempt[] }): JSX.Element {
  return (
    <Section title={attempts.length > 1 ? `Attempts: ${attempts.length}` : "Attempts"}>
      {attempts.length === 0 ? (
        <p class="muted">No request was sent to a provider.</p>
      ) : (
        <AttemptTable attempts={attempts} />
      )}
    </Section>
  );
}

function AttemptTable({ attempts }: { readonly attempts: readonly RequestAttempt[] }): JSX.Element {
  return (
    <Table
      label="Attempts"
      rows={attempts.map((attempt, index) => ({ ...attempt, index }))}
      keyOf={({ index }) => String(index)}
      columns={[
        { title: "Target", kind: "main", cell: ({ provider, index }) => `${index + 1}. ${provider}` },
        { title: "Model", cell: ({ model }) => model ?? <span class="muted">None</span> },
        {
          title: "Result",
          cell: ({ status, fault }) => (
            <>
              {status !== null && <Badge tone={statusTone(status)}>{status}</Badge>}
              {fault !== null && <Badge tone="bad">{attemptErrorLabel(fault)}</Badge>}
            </>
          ),
        },
        {
          title: "First byte",
          kind: "number",
          cell: ({ first_byte_ms }) => (first_byte_ms === null ? "–" : formatMs(first_byte_ms)),
        },
        { title: "Duration", kind: "number", cell: ({ ms }) => formatMs(ms) },
      ]}
    />
  );
}
