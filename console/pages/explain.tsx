// What would become of a request, without sending it: rule, key, limits, plugins, targets, and what the provider would get.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, get } from "../api/client.ts";
import type { RequestRecord } from "../api/observed.ts";
import type { Explanation } from "../api/types.ts";
import { Badge, toneOfStatus, type Tone } from "../components/badge.tsx";
import { Code, pretty } from "../components/code.tsx";
import { LoadFault, Notice } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { Time } from "../components/time.tsx";
import { MapField } from "../forms/collections.tsx";
import { AreaField, ChoiceField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { useForm } from "../state/form.ts";
import { knownKeys } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";
import { place, type PageParameters } from "../state/router.tsx";

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"].map((method) => ({ value: method, label: method }));
const MISSING = "This gateway cannot explain requests.";

const VERDICTS: Readonly<Record<string, Tone>> = {
  passed: "good",
  changed: "accent",
  answered: "warning",
  failed: "bad",
  allowed: "good",
  denied: "bad",
};

export function ExplainPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const requestId = place.value.search.get("request");
  const loaded = useLoad((signal) => startingPoint(gateway, requestId, signal), [requestId]);
  return (
    <Page
      title="Explain"
      about="Describe a request and see what would become of it. Nothing is sent, and nothing is counted."
    >
      <WhenLoaded loaded={loaded} what="the request" missing={MISSING}>
        {(asked) => <ExplainForm gateway={gateway} asked={asked} />}
      </WhenLoaded>
    </Page>
  );
}

/** What to begin with: a request that was recorded, or an ordinary chat. */
async function startingPoint(gateway: string, requestId: string | null, signal: AbortSignal): Promise<Asked> {
  const chat = { messages: [{ role: "user", content: "Hello!" }] };
  const plain: Asked = { method: "POST", path: "/v1/chat/completions", headers: {}, body: pretty(chat) };
  if (requestId === null) return plain;
  const path = `/gateways/${gateway}/requests?request_id=${encodeURIComponent(requestId)}`;
  const [record] = (await get<{ requests: readonly RequestRecord[] }>(path, signal)).requests;
  if (record === undefined) return plain;
  const key = record.api_key === null ? undefined : knownKeys.value.get(record.api_key.id);
  const model = record.requested_model ?? record.model;
  return {
    method: record.method,
    path: record.path,
    headers: key === undefined ? {} : { "X-GW-API-Key": key },
    body: pretty(record.bodies?.request ?? (model === null ? chat : { model, ...chat })),
  };
}

function ExplainForm({ gateway, asked }: { readonly gateway: string; readonly asked: Asked }): JSX.Element {
  const form = useForm<Asked>(asked, { isGuarded: false });
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  const explain = () =>
    form.submit(async ({ method, path, headers, body }) => {
      const sent = { method, path, headers, ...(body.trim() !== "" && { body: parsed(body) }) };
      setExplanation((await call<Explanation>("POST", `/gateways/${gateway}/explain`, { body: sent })).data);
    });
  return (
    <div class="two-sides">
      <RecordForm form={form} onSubmit={() => void explain()} submit="Explain">
        <div class="card fields">
          <div class="fields inline">
            <ChoiceField form={form} at="method" label="Method" choices={METHODS} />
            <TextField form={form} at="path" label="Path" isMono isRequired />
          </div>
          <MapField
            form={form}
            at="headers"
            label="Headers"
            nameLabel="Header"
            hint="X-GW-API-Key for a key; X-User-ID for limits by user."
          />
          <AreaField form={form} at="body" label="Body" rows={9} isMono />
        </div>
      </RecordForm>
      <div aria-live="polite">
        {explanation !== null && <Explained gateway={gateway} explanation={explanation} />}
      </div>
      {form.fault instanceof ApiError && form.fault.status === 404 && (
        <LoadFault error={form.fault} retry={() => void explain()} missing={MISSING} />
      )}
    </div>
  );
}

/** JSON as JSON; anything else goes as the text it is. */
function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}

function Explained({
  explanation,
}: {
  readonly gateway: string;
  readonly explanation: Explanation;
}): JSX.Element {
  const { answer, authentication, plugins, limits, targets, upstream_request } = explanation;
  return (
    <div class="explained">
      {answer === null ? (
        <Notice kind="good">
          <p>It would go to a provider.</p>
        </Notice>
      ) : (
        <Notice kind="warning">
          <p>
            The gateway itself would answer <Badge tone={toneOfStatus(answer.status)}>{answer.status}</Badge>{" "}
            {answer.code !== null && <strong>{answer.code}</strong>} {answer.error}
          </p>
        </Notice>
      )}
      <Section title="Rules">
        <Table
          label="Rules"
          rows={explanation.rules}
          keyOf={({ id }) => id}
          isDimmed={({ matched }) => !matched}
          columns={[
            { title: "Path", kind: "main", cell: ({ path }) => <span class="mono">{path}</span> },
            {
              title: "Verdict",
              cell: ({ id, matched }) =>
                id === explanation.rule?.id ? (
                  <Badge tone="good">serves</Badge>
                ) : (
                  <Badge>{matched ? "would match" : "no match"}</Badge>
                ),
            },
            { title: "Why", cell: ({ reason }) => reason },
          ]}
        />
      </Section>
      <Section title="API key">
        <p>
          <Badge tone={VERDICTS[authentication.verdict] ?? "neutral"}>{authentication.verdict}</Badge>{" "}
          {authentication.reason}
        </p>
      </Section>
      {plugins.length > 0 && (
        <Section title="Plugins">
          <Table
            label="Plugins"
            rows={plugins.map((plugin, index) => ({ ...plugin, index }))}
            keyOf={({ index }) => String(index)}
            columns={[
              { title: "Plugin", kind: "main", cell: ({ name }) => name },
              { title: "Stage", cell: ({ stage }) => <code>{stage}</code> },
              {
                title: "Verdict",
                cell: ({ verdict, detail }) => (
                  <>
                    <Badge tone={VERDICTS[verdict] ?? "neutral"}>{verdict.replaceAll("_", " ")}</Badge>
                    {detail !== null && <span class="soft"> {detail}</span>}
                  </>
                ),
              },
            ]}
          />
        </Section>
      )}
      {limits.length > 0 && <Limits limits={limits} />}
      {targets.length > 0 && <Targets targets={targets} />}
      {upstream_request !== null && (
        <Section title="What the provider would get" about="Credentials are masked.">
          <Code text={asText(upstream_request)} what="the request to the provider" />
        </Section>
      )}
    </div>
  );
}

function Limits({ limits }: { readonly limits: Explanation["limits"] }): JSX.Element {
  return (
    <Section title="Limits">
      <Table
        label="Limits"
        rows={limits.map((limit, index) => ({ ...limit, index }))}
        keyOf={({ index }) => String(index)}
        columns={[
          { title: "Limit", kind: "main", cell: ({ type }) => type },
          { title: "Left", kind: "number", cell: ({ remaining, limit }) => `${remaining} of ${limit}` },
          { title: "Window", cell: ({ window }) => window },
          { title: "Room again", cell: ({ reset }) => <Time at={reset} /> },
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
          { title: "Target", kind: "main", cell: ({ provider }) => provider },
          { title: "Model", cell: ({ model }) => model ?? <span class="soft">–</span> },
          { title: "Priority", kind: "number", cell: ({ priority }) => priority },
          { title: "Weight", kind: "number", cell: ({ weight }) => weight },
          {
            title: "Verdict",
            cell: ({ eligible, state, next }) => (
              <>
                <Badge tone={state === "healthy" ? "good" : "warning"}>{state}</Badge>{" "}
                {next ? <Badge tone="accent">next</Badge> : !eligible && <Badge>not eligible</Badge>}
              </>
            ),
          },
          { title: "Why", cell: ({ reason }) => reason },
        ]}
      />
    </Section>
  );
}

function asText({ method, url, headers, body }: NonNullable<Explanation["upstream_request"]>): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const content = body === null ? "" : `\n\n${pretty(body)}`;
  return `${method} ${url}\n${lines.join("\n")}${content}`;
}
