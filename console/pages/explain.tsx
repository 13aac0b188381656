// Explain: shows how the gateway would handle a request, without sending it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { listKeys } from "../api/resources.ts";
import type { ApiKey, Explanation, Replay } from "../api/types.ts";
import { Badge, statusTone } from "../components/badge.tsx";
import { pretty } from "../components/code.tsx";
import { ExplanationView } from "../components/explanation.tsx";
import { Time } from "../components/format.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { MapField } from "../forms/collections.tsx";
import { ChoiceField, TextAreaField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import { route, type RoutedPageProps } from "../state/router.tsx";

interface Draft {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly api_key: string | null;
  readonly body: string;
  /** An MCP tool, whose arguments are the body; empty for other requests. */
  readonly tool: string;
}

interface Loaded {
  readonly draft: Draft;
  readonly keys: readonly ApiKey[];
  /** Set for a request of the request log, which is explained at once. */
  readonly replay: Replay | null;
}

const METHOD_CHOICES = ["POST", "GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"].map((method) => ({
  value: method,
  label: method,
}));

export function ExplainPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const requestId = route.value.search.get("request");
  const loaded = useLoad((signal) => load(gateway, requestId, signal), [requestId]);
  return (
    <Page
      title="Explain"
      description="See how the gateway would handle a request. Nothing is sent to a provider and no limit is consumed."
    >
      <WhenLoaded loaded={loaded} what="request">
        {(data) => <ExplainForm key={requestId} gateway={gateway} {...data} />}
      </WhenLoaded>
    </Page>
  );
}

async function load(gateway: string, requestId: string | null, signal: AbortSignal): Promise<Loaded> {
  const path = `/gateways/${gateway}/requests/${encodeURIComponent(requestId ?? "")}/explain`;
  const [keys, replay] = await Promise.all([
    listKeys(gateway, signal),
    requestId === null ? null : call<Replay>("POST", path, { signal }).then(({ data }) => data),
  ]);
  return { keys, replay, draft: replay === null ? NEW_DRAFT : draftOf(replay) };
}

const NEW_DRAFT: Draft = {
  method: "POST",
  path: "/v1/chat/completions",
  headers: {},
  api_key: null,
  body: pretty({ messages: [{ role: "user", content: "Hello!" }] }),
  tool: "",
};

function draftOf({ request }: Replay): Draft {
  const { method, path, headers, api_key = null, body = "" } = request;
  return { method, path, headers, api_key, body: pretty(body), tool: "" };
}

function ExplainForm({ gateway, draft, keys, replay }: Loaded & { readonly gateway: string }): JSX.Element {
  const form = useForm<Draft>(draft, { warnOnLeave: false });
  const [explanation, setExplanation] = useState<Explanation | null>(replay?.explanation ?? null);
  const [isReplay, setReplay] = useState(replay !== null);
  const explain = () =>
    form.submit(async ({ method, path, headers, api_key, body, tool }) => {
      const input = {
        ...{ method, path, headers },
        ...(api_key !== null && { api_key }),
        ...contentOf(body.trim() === "" ? undefined : parseBody(body), tool.trim()),
      };
      setExplanation((await call<Explanation>("POST", `/gateways/${gateway}/explain`, { body: input })).data);
      setReplay(false);
    });
  return (
    <div class="two-columns">
      <RecordForm form={form} onSubmit={() => void explain()} submit="Explain">
        <div class="card fields">
          <div class="fields inline">
            <ChoiceField form={form} path="method" label="Method" choices={METHOD_CHOICES} />
            <TextField form={form} path="path" label="Path" isMono isRequired />
          </div>
          <ChoiceField form={form} path="api_key" label="API key" choices={keyChoices(keys, draft.api_key)} />
          <MapField
            form={form}
            path="headers"
            label="Headers"
            nameLabel="Header"
            hint="X-User-ID sets the user for per-user limits."
          />
          <TextField
            form={form}
            path="tool"
            label="MCP tool"
            isMono
            hint="For a rule that leads to MCP servers: the tool that is called. The body has its arguments."
          />
          <TextAreaField form={form} path="body" label="Body" rows={9} isMono />
        </div>
      </RecordForm>
      <div aria-live="polite">
        {isReplay && replay !== null && <ReplayNotice replay={replay} />}
        {explanation !== null && <ExplanationView explanation={explanation} />}
      </div>
    </div>
  );
}

function contentOf(body: unknown, tool: string): object {
  if (tool === "") return body === undefined ? {} : { body };
  return { mcp: { method: "tools/call", params: { name: tool, arguments: body ?? {} } } };
}

/** A recorded key is always listed, even if it was deleted. */
function keyChoices(keys: readonly ApiKey[], recorded: string | null) {
  const listed = keys
    .filter(({ id, active }) => active || id === recorded)
    .map(({ id, name, active }) => ({ value: id, label: active ? name : `${name} (revoked)` }));
  const isMissing = recorded !== null && listed.every(({ value }) => value !== recorded);
  return [
    { value: null, label: "None" },
    ...(isMissing ? [{ value: recorded, label: recorded }] : []),
    ...listed,
  ];
}

function ReplayNotice({ replay }: { readonly replay: Replay }): JSX.Element {
  const { status, error_code, time } = replay.recorded;
  return (
    <Notice kind="info">
      <p>
        Recorded <Time at={time} />: <Badge tone={statusTone(status)}>{status}</Badge> {error_code}
      </p>
      <ul>
        {replay.not_recorded.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </Notice>
  );
}

/** Returns parsed JSON. Other text is sent as a string. */
function parseBody(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}
