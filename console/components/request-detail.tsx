// One request opened: what became of it, where the time went, every attempt, every plugin's verdict.
import type { JSX } from "preact";
import { ERROR_MEANINGS } from "../api/error-meanings.ts";
import type { PluginRun, RequestAttempt, RequestRecord } from "../api/observed.ts";
import { Link } from "../state/router.tsx";
import { Badge, toneOfStatus, type Tone } from "./badge.tsx";
import { CopyButton, LinkButton } from "./button.tsx";
import { Code, pretty } from "./code.tsx";
import { Notice } from "./notice.tsx";
import { Section } from "./page.tsx";
import { Prose } from "./prose.tsx";
import { Table } from "./table.tsx";
import { formatCost, formatCount, formatMs, Time } from "./time.tsx";
import { Waterfall } from "./waterfall.tsx";

const VERDICT_TONES: Readonly<Record<string, Tone>> = {
  passed: "good",
  changed: "accent",
  answered: "warning",
  failed: "bad",
};

export function RequestDetail({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { error_code, bodies } = record;
  return (
    <>
      {error_code !== null && (
        <Notice kind="warning">
          <p>
            <strong>{error_code}</strong>:{" "}
            <Prose text={ERROR_MEANINGS[error_code] ?? "The gateway answered with an error."} />
          </p>
        </Notice>
      )}
      <Facts record={record} />
      <Section title="Where the time went">
        <Waterfall record={record} />
      </Section>
      <Section title={record.attempts.length > 1 ? `Attempts: ${record.attempts.length}` : "Attempts"}>
        {record.attempts.length === 0 ? (
          <p class="soft">No provider was asked.</p>
        ) : (
          <AttemptTable attempts={record.attempts} />
        )}
      </Section>
      <Section title="Plugins">
        {record.plugins.length === 0 ? (
          <p class="soft">No plugin ran.</p>
        ) : (
          <PluginTable runs={record.plugins} />
        )}
      </Section>
      {bodies !== undefined && (
        <Section title="Bodies">
          <h3>Request</h3>
          <Code text={pretty(bodies.request)} what="the body of the request" />
          <h3>Response</h3>
          <Code text={pretty(bodies.response)} what="the body of the response" />
        </Section>
      )}
      <div class="actions">
        <LinkButton
          to={`/gateways/${record.gateway_id ?? ""}/explain?request=${encodeURIComponent(record.request_id)}`}
          icon="explain"
        >
          Explain it
        </LinkButton>
      </div>
    </>
  );
}

function Facts({ record }: { readonly record: RequestRecord }): JSX.Element {
  const { tokens, cost, timings, rule, api_key, model, requested_model } = record;
  const base = `/gateways/${record.gateway_id ?? ""}`;
  return (
    <dl class="facts">
      <dt>Answer</dt>
      <dd>
        <Badge tone={toneOfStatus(record.status)}>{record.status}</Badge>{" "}
        {record.outcome.replaceAll("_", " ")}
        {record.stream && ", streamed"}
      </dd>
      <dt>Time</dt>
      <dd>
        <Time at={record.time} />, {formatMs(timings.total_ms)} in all
        {timings.first_byte_ms !== null && `, first byte after ${formatMs(timings.first_byte_ms)}`}
      </dd>
      <dt>Rule</dt>
      <dd>
        {rule === null ? (
          <span class="soft">none matched</span>
        ) : (
          <Link to={`${base}/rules/${rule.id}`}>{rule.path}</Link>
        )}
      </dd>
      <dt>API key</dt>
      <dd>
        {api_key === null ? (
          <span class="soft">none</span>
        ) : (
          <Link to={`${base}/keys/${api_key.id}`}>{api_key.name}</Link>
        )}
      </dd>
      <dt>Target</dt>
      <dd>{record.provider ?? <span class="soft">none</span>}</dd>
      <dt>Model</dt>
      <dd>
        {model ?? <span class="soft">none</span>}
        {requested_model !== null && requested_model !== model && (
          <span class="soft"> instead of {requested_model}</span>
        )}
      </dd>
      <dt>Tokens</dt>
      <dd>
        {tokens === null ? (
          <span class="soft">not told</span>
        ) : (
          `${formatCount(tokens.input)} in, ${formatCount(tokens.output)} out${tokens.partial ? " (cut short)" : ""}`
        )}
      </dd>
      <dt>Cost</dt>
      <dd>{cost === null ? <span class="soft">no price for this model</span> : formatCost(cost)}</dd>
      <dt>Request id</dt>
      <dd>
        <code>{record.request_id}</code> <CopyButton text={record.request_id} what="the request id" />
      </dd>
      <dt>Revision</dt>
      <dd>{record.revision}</dd>
    </dl>
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
        { title: "Model", cell: ({ model }) => model ?? <span class="soft">none</span> },
        {
          title: "Result",
          cell: ({ status, fault }) => (
            <>
              {status !== null && <Badge tone={toneOfStatus(status)}>{status}</Badge>}
              {fault !== null && <Badge tone="bad">{fault.replaceAll("_", " ")}</Badge>}
            </>
          ),
        },
        {
          title: "First byte",
          kind: "number",
          cell: ({ first_byte_ms }) => (first_byte_ms === null ? "–" : formatMs(first_byte_ms)),
        },
        { title: "Took", kind: "number", cell: ({ ms }) => formatMs(ms) },
      ]}
    />
  );
}

function PluginTable({ runs }: { readonly runs: readonly PluginRun[] }): JSX.Element {
  return (
    <Table
      label="Plugins"
      rows={runs.map((run, index) => ({ ...run, index }))}
      keyOf={({ index }) => String(index)}
      columns={[
        { title: "Plugin", kind: "main", cell: ({ name }) => name },
        { title: "Stage", cell: ({ stage }) => <code>{stage}</code> },
        {
          title: "Verdict",
          cell: ({ verdict, detail }) => (
            <>
              <Badge tone={VERDICT_TONES[verdict] ?? "neutral"}>{verdict}</Badge>
              {detail !== null && <span class="soft"> {detail}</span>}
            </>
          ),
        },
        { title: "Took", kind: "number", cell: ({ ms }) => formatMs(ms) },
      ]}
    />
  );
}
