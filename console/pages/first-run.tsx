// Setup page: creates a gateway with a working route and an API key in one step.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { listProviders } from "../api/resources.ts";
import type { Provider } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { Icon } from "../components/icon.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { ProviderFields } from "../forms/first-run-fields.tsx";
import { CheckboxField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { createFirstRoute, NOTHING_CREATED, STEPS, type FirstRoute } from "../state/first-route.ts";
import { mapError, STEP_LABELS, toTarget, type Draft } from "../state/first-run-draft.ts";
import { useForm } from "../state/form.ts";
import { loadGateways } from "../state/gateways.ts";
import { rememberKey } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";

const INITIAL_DRAFT: Draft = {
  hasAccount: false,
  provider: "",
  credential: "",
  baseUrl: "",
  models: [],
  name: "my gateway",
  path: "/v1/*",
  requireKey: true,
};

export function FirstRunPage(): JSX.Element {
  const loaded = useLoad((signal) => listProviders(signal), []);
  const [created, setCreated] = useState<FirstRoute>(NOTHING_CREATED);
  const isDone = STEPS.every((step) => created.ids[step] !== undefined);
  return (
    <Page
      title={isDone ? "First route created" : "Create your first route"}
      description={
        isDone
          ? "Requests to its paths now go to your provider."
          : "This creates a gateway, an upstream, a service, a rule, and an API key. You can change everything later."
      }
    >
      {isDone ? (
        <FirstRouteCreated created={created} />
      ) : (
        <WhenLoaded loaded={loaded} what="providers">
          {(providers) => <FirstRunForm providers={providers} created={created} onStep={setCreated} />}
        </WhenLoaded>
      )}
    </Page>
  );
}

interface FirstRunFormProps {
  readonly providers: readonly Provider[];
  readonly created: FirstRoute;
  readonly onStep: (created: FirstRoute) => void;
}

function FirstRunForm({ providers, created, onStep }: FirstRunFormProps): JSX.Element {
  const form = useForm<Draft>(
    { ...INITIAL_DRAFT, provider: providers[0]?.name ?? "" },
    { warnOnLeave: false },
  );
  const create = () =>
    form.submit(async (draft) => {
      let latest = created;
      try {
        await createFirstRoute({ ...draft, target: toTarget(draft, providers) }, created, (next) => {
          latest = next;
          if (next.key !== null && next.ids.api_key !== undefined) rememberKey(next.ids.api_key, next.key);
          onStep(next);
        });
      } catch (error) {
        throw mapError(error, latest);
      }
      await loadGateways();
    });
  return (
    <RecordForm
      form={form}
      onSubmit={() => void create()}
      operation="POST /iam/api-keys"
      submit="Create route"
    >
      <Section title="1. Provider">
        <ProviderFields form={form} providers={providers} />
      </Section>
      <Section title="2. Route">
        <div class="card fields">
          <TextField
            form={form}
            path="path"
            label="Path"
            isMono
            isRequired
            hint="With the default path, SDKs only need another base URL and key: each endpoint goes to that of your provider."
          />
          <CheckboxField
            form={form}
            path="requireKey"
            label="Require an API key"
            hint="A key is created in any case. Without this option, requests without a key are accepted too."
          />
        </div>
      </Section>
      <Section title="3. Gateway">
        <div class="card fields">
          <TextField form={form} path="name" label="Gateway name" isRequired />
        </div>
      </Section>
      {(form.isBusy || created.ids.gateway !== undefined) && <Steps created={created} isBusy={form.isBusy} />}
    </RecordForm>
  );
}

interface StepsProps {
  readonly created: FirstRoute;
  readonly isBusy: boolean;
}

function Steps({ created, isBusy }: StepsProps): JSX.Element {
  const next = STEPS.find((step) => created.ids[step] === undefined);
  return (
    <ol class="steps" aria-label="Progress">
      {STEPS.map((step) => (
        <li key={step} class={created.ids[step] === undefined ? undefined : "done"}>
          {created.ids[step] !== undefined ? (
            <Icon name="done" />
          ) : isBusy && step === next ? (
            <span class="spinner" aria-hidden="true" />
          ) : (
            <span class="dot" aria-hidden="true" />
          )}
          {STEP_LABELS[step]}
        </li>
      ))}
    </ol>
  );
}

function FirstRouteCreated({ created }: { readonly created: FirstRoute }): JSX.Element {
  const gateway = created.ids.gateway ?? "";
  return (
    <div class="card fields">
      <Notice kind="good">
        <p>The route is active. No restart is needed.</p>
      </Notice>
      {created.key !== null && (
        <div>
          <p>
            API key for your application. <strong>It is shown only once.</strong>
          </p>
          <Code text={created.key} what="API key" />
        </div>
      )}
      <p class="hint">
        Give SDKs this key and the address of the proxy as base URL. Its port is 8081 by default. OpenAI's
        SDKs need the path <code>/v1</code> after the address, Anthropic's do not. The command{" "}
        <code>gatehouse connect</code> prints the settings for SDKs and coding agents.
      </p>
      <div class="actions">
        <LinkButton
          to={`/gateways/${gateway}/playground?key=${created.ids.api_key ?? ""}`}
          kind="primary"
          icon="playground"
        >
          Try it in the playground
        </LinkButton>
        <LinkButton to={`/gateways/${gateway}/plugins`} icon="plugins">
          Add a rate limit
        </LinkButton>
      </div>
    </div>
  );
}
