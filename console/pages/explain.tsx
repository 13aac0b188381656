// Explain: shows how the gateway would handle a request, without sending it.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import { findRequest } from "../api/resources.ts";
import type { Explanation } from "../api/types.ts";
import { pretty } from "../components/code.tsx";
import { ExplanationView } from "../components/explanation.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { MapField } from "../forms/collections.tsx";
import { ChoiceField, TextAreaField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { useForm } from "../state/form.ts";
import { knownKeys } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";
import { route, type RoutedPageProps } from "../state/router.tsx";

interface Draft {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

const METHOD_CHOICES = ["POST", "GET", "PUT", "PATCH", "DELETE"].map((method) => ({
  value: method,
  label: method,
}));

export function ExplainPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const requestId = route.value.search.get("request");
  const loaded = useLoad((signal) => initialDraft(gateway, requestId, signal), [requestId]);
  return (
    <Page
      title="Explain"
      description="See how the gateway would handle a request. Nothing is sent to a provider and no limit is consumed."
    >
      <WhenLoaded loaded={loaded} what="request">
        {(draft) => <ExplainForm gateway={gateway} draft={draft} />}
      </WhenLoaded>
    </Page>
  );
}

/** Returns a draft of a logged request, or of a plain chat request if there is none. */
async function initialDraft(gateway: string, requestId: string | null, signal: AbortSignal): Promise<Draft> {
  const chat = { messages: [{ role: "user", content: "Hello!" }] };
  const record = requestId === null ? null : await findRequest(gateway, requestId, signal);
  if (record === null)
    return { method: "POST", path: "/v1/chat/completions", headers: {}, body: pretty(chat) };
  const key = record.api_key === null ? undefined : knownKeys.value.get(record.api_key.id);
  const model = record.requested_model ?? record.model;
  return {
    method: record.method,
    path: record.path,
    headers: key === undefined ? {} : { "X-GW-API-Key": key },
    body: pretty(record.bodies?.request ?? (model === null ? chat : { model, ...chat })),
  };
}

function ExplainForm({ gateway, draft }: { readonly gateway: string; readonly draft: Draft }): JSX.Element {
  const form = useForm<Draft>(draft, { warnOnLeave: false });
  const [explanation, setExplanation] = useState<Explanation | null>(null);
  const explain = () =>
    form.submit(async ({ method, path, headers, body }) => {
      const input = { method, path, headers, ...(body.trim() !== "" && { body: parseBody(body) }) };
      setExplanation((await call<Explanation>("POST", `/gateways/${gateway}/explain`, { body: input })).data);
    });
  return (
    <div class="two-columns">
      <RecordForm form={form} onSubmit={() => void explain()} submit="Explain">
        <div class="card fields">
          <div class="fields inline">
            <ChoiceField form={form} path="method" label="Method" choices={METHOD_CHOICES} />
            <TextField form={form} path="path" label="Path" isMono isRequired />
          </div>
          <MapField
            form={form}
            path="headers"
            label="Headers"
            nameLabel="Header"
            hint="X-GW-API-Key sets the API key, X-User-ID the user for per-user limits."
          />
          <TextAreaField form={form} path="body" label="Body" rows={9} isMono />
        </div>
      </RecordForm>
      <div aria-live="polite">{explanation !== null && <ExplanationView explanation={explanation} />}</div>
    </div>
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
