// Result of Explain: rules, authentication, plugins, limits, targets, and the request to the provider.
import type { JSX } from "preact";
import type { Explanation } from "../api/types.ts";
import { Badge, statusTone } from "./badge.tsx";
import { Code, pretty } from "./code.tsx";
import { Time } from "./format.tsx";
import { limitTypeLabel, TARGET_STATES } from "./labels.ts";
import { Notice } from "./notice.tsx";
import { Section } from "./page.tsx";
import { PluginTable } from "./plugin-table.tsx";
import { Table } from "./table.tsx";

export function ExplanationView({ explanation }: { readonly explanation: Explanation }): JSX.Element {
  const { authentication, plugins, limits, targets, upstream_request } = explanation;
  return (
    <div class="explanation">
      <Result response={explanation.answer} />
      <Rules explanation={explanation} />
      {explanation.unguarded.length > 0 && (
        <Section title="Without inspection">
          <p>{explanation.unguarded.join(", ")}</p>
        </Section>
      )}
      <Section title="API key">
        <p>
          {authentication.verdict === "allowed" ? (
            <Badge tone="good">Allowed</Badge>
          ) : (
            <Badge tone="bad">Denied</Badge>
          )}{" "}
          {authentication.reason}
        </p>
      </Section>
      {plugins.length > 0 && (
        <Section title="Plugins">
          <PluginTable runs={plugins} />
        </Section>
      )}
      {limits.length > 0 && <Limits limits={limits} />}
      {explanation.mcp && <Mcp explained={explanation.mcp} />}
      {targets.length > 0 && <Targets targets={targets} />}
      {upstream_request !== null && (
        <Section title="Request to the provider" description="Credentials are masked.">
          <Translation translation={upstream_request.translation} />
          <Code text={formatRequest(upstream_request)} what="request" />
        </Section>
      )}
    </div>
  );
}

function Mcp({ explained }: { readonly explained: NonNullable<Explanation["mcp"]> }): JSX.Element {
  const { method, tool, allowed, reason, servers } = explained;
  return (
    <Section title="MCP">
      <p>
        {allowed === null ? (
          <Badge>Not known</Badge>
        ) : allowed ? (
          <Badge tone="good">Allowed</Badge>
        ) : (
          <Badge tone="bad">Not offered</Badge>
        )}{" "}
        <code>
          {method} {tool}
        </code>
        : {reason}
      </p>
      <Table
        label="MCP servers"
        rows={servers}
        keyOf={({ id }) => id}
        columns={[
          { title: "Server", kind: "main", cell: ({ name }) => name },
          { title: "Next", cell: ({ next }) => (next ? <Badge tone="good">Next</Badge> : "–") },
          { title: "Reason", cell: ({ reason: why }) => why },
        ]}
      />
    </Section>
  );
}

function Translation({
  translation,
}: {
  readonly translation: NonNullable<Explanation["upstream_request"]>["translation"];
}): JSX.Element | null {
  if (translation === null) return null;
  const { request_format, target_format, response_format, dropped } = translation;
  return (
    <p>
      Translated from {request_format} to {target_format}. The response has the format {response_format}.
      {dropped.length > 0 && <> Left out: {dropped.join(", ")}.</>}
    </p>
  );
}

function Result({ response }: { readonly response: Explanation["answer"] }): JSX.Element {
  if (response === null) {
    return (
      <Notice kind="good">
        <p>The request would be sent to a provider.</p>
      </Notice>
    );
  }
  const { status, code, error } = response;
  return (
    <Notice kind="warning">
      <p>
        The gateway would respond with <Badge tone={statusTone(status)}>{status}</Badge>{" "}
        {code !== null && <strong>{code}</strong>} {error}
      </p>
    </Notice>
  );
}

function Rules({ explanation }: { readonly explanation: Explanation }): JSX.Element {
  return (
    <Section title="Rules">
      <Table
        label="Rules"
        rows={explanation.rules}
        keyOf={({ id }) => id}
        isDimmed={({ matched }) => !matched}
        columns={[
          { title: "Path", kind: "main", cell: ({ path }) => <span class="mono">{path}</span> },
          {
            title: "Result",
            cell: ({ id, matched }) =>
              id === explanation.rule?.id ? (
                <Badge tone="good">Selected</Badge>
              ) : (
                <Badge>{matched ? "Match" : "No match"}</Badge>
              ),
          },
          { title: "Reason", cell: ({ reason }) => reason },
        ]}
      />
    </Section>
  );
}

function Limits({ limits }: { readonly limits: Explanation["limits"] }): JSX.Element {
  return (
    <Section title="Rate limits">
      <Table
        label="Rate limits"
        rows={limits.map((limit, index) => ({ ...limit, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { title: "Limit", kind: "main", cell: ({ type }) => limitTypeLabel(type) },
          { title: "Remaining", kind: "number", cell: ({ remaining, limit }) => `${remaining} of ${limit}` },
          { title: "Window", cell: ({ window }) => window },
          { title: "Resets", cell: ({ reset }) => <Time at={reset} /> },
        ]}
      />
    </Section>
  );
}

function Targets({ targets }: { readonly targets: Explanation["targets"] }): JSX.Element {
  return (
    <Section title="Targets">
      <Table
        label="Targets"
        rows={targets}
        keyOf={({ id }) => id}
        isDimmed={({ eligible }) => !eligible}
        columns={[
          {
            title: "Target",
            kind: "main",
            cell: ({ provider, credentials }) => (
              <>
                {provider}
                {credentials !== null && credentials !== "header" && (
                  <span class="muted"> · {credentials}</span>
                )}
              </>
            ),
          },
          { title: "Model", cell: ({ model }) => model ?? <span class="muted">–</span> },
          { title: "Priority", kind: "number", cell: ({ priority }) => priority },
          { title: "Weight", kind: "number", cell: ({ weight }) => weight },
          {
            title: "State",
            cell: ({ eligible, state, next }) => (
              <>
                <Badge tone={TARGET_STATES[state].tone}>{TARGET_STATES[state].text}</Badge>{" "}
                {next ? <Badge tone="accent">Next</Badge> : !eligible && <Badge>Not eligible</Badge>}
              </>
            ),
          },
          { title: "Reason", cell: ({ reason }) => reason },
        ]}
      />
    </Section>
  );
}

function formatRequest({ method, url, headers, body }: NonNullable<Explanation["upstream_request"]>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const content = body === null ? "" : `\n\n${pretty(body)}`;
  return `${method} ${url}\n${lines.join("\n")}${content}`;
}
