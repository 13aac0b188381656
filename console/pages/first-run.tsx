// From nothing to a working route: one page, one button, and on to the playground.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { listProviders } from "../api/resources.ts";
import type { Provider } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { Icon } from "../components/icon.tsx";
import { Notice } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { CheckField, ChoiceField, TextField } from "../forms/inputs.tsx";
import { More } from "../forms/more.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { emptyCredential } from "../forms/target-fields.tsx";
import { ApiError } from "../api/client.ts";
import { makeFirstRoute, NOTHING_MADE, STEPS, type FirstRoute, type Step } from "../state/first-route.ts";
import { useForm, type Form } from "../state/form.ts";
import { loadGateways } from "../state/gateways.ts";
import { rememberKey } from "../state/known-keys.ts";
import { useLoad } from "../state/load.ts";

const STAND_IN = {
  provider: "stand-in",
  address: "http://127.0.0.1:9099",
  model: "stand-in-1",
  command: "npm run fake-provider -- --port 9099",
  executable: "gatehouse fake-provider --port 9099",
};

const STEP_NAMES: Readonly<Record<Step, string>> = {
  gateway: "the gateway",
  upstream: "an upstream with your provider as its target",
  service: "a service that points to it",
  rule: "a rule for the path",
  api_key: "an API key",
};

interface Draft {
  readonly hasAccount: boolean;
  readonly provider: string;
  readonly credential: string;
  readonly address: string;
  readonly model: string;
  readonly name: string;
  readonly path: string;
  readonly requireKey: boolean;
}

export function FirstRunPage(): JSX.Element {
  const loaded = useLoad((signal) => listProviders(signal), []);
  const [made, setMade] = useState<FirstRoute>(NOTHING_MADE);
  const isDone = STEPS.every((step) => made.ids[step] !== undefined);
  return (
    <Page
      title={isDone ? "The first route is there" : "Set up the first route"}
      about={
        isDone
          ? "Calls to its path now go to your provider."
          : "Answer three questions; the gateway, an upstream, a service, a rule and a key are made for you. All can be changed later."
      }
    >
      {isDone ? (
        <FirstRouteDone made={made} />
      ) : (
        <WhenLoaded loaded={loaded} what="providers">
          {(providers) => <FirstRunForm providers={providers} made={made} onStep={setMade} />}
        </WhenLoaded>
      )}
    </Page>
  );
}

interface FirstRunFormProps {
  readonly providers: readonly Provider[];
  readonly made: FirstRoute;
  readonly onStep: (made: FirstRoute) => void;
}

function FirstRunForm({ providers, made, onStep }: FirstRunFormProps): JSX.Element {
  const form = useForm<Draft>(
    {
      hasAccount: false,
      provider: providers[0]?.name ?? "",
      credential: "",
      address: "",
      model: "",
      name: "my gateway",
      path: "/v1/chat/completions",
      requireKey: true,
    },
    { isGuarded: false },
  );
  const { hasAccount } = form.value;
  const make = () =>
    form.submit(async (draft) => {
      let latest = made;
      const tell = (next: FirstRoute) => {
        latest = next;
        if (next.key !== null && next.ids.api_key !== undefined) rememberKey(next.ids.api_key, next.key);
        onStep(next);
      };
      try {
        await makeFirstRoute({ ...draft, target: targetOf(draft, providers) }, made, tell);
      } catch (error) {
        throw placed(error, latest);
      }
      await loadGateways();
    });
  return (
    <RecordForm form={form} onSubmit={() => void make()} submit="Create the route">
      <Section title="1. Who answers?">
        <div class="card fields">
          <div class="switch" role="group" aria-label="Provider account">
            <Button isPressed={!hasAccount} onClick={() => form.set("hasAccount", false)}>
              No account: a stand-in
            </Button>
            <Button isPressed={hasAccount} onClick={() => form.set("hasAccount", true)}>
              I have a provider account
            </Button>
          </div>
          {hasAccount ? <AccountFields form={form} providers={providers} /> : <StandInFields form={form} />}
        </div>
      </Section>
      <Section title="2. Where do calls come in?">
        <div class="card fields">
          <TextField
            form={form}
            at="path"
            label="Path"
            isMono
            isRequired
            hint="The usual one of chat completions, so that SDKs work with a changed address only."
          />
          <CheckField
            form={form}
            at="requireKey"
            label="Ask for an API key"
            hint="One is made for you either way; without this, calls pass without a key too."
          />
        </div>
      </Section>
      <Section title="3. What is it called?">
        <div class="card fields">
          <TextField form={form} at="name" label="Name of the gateway" isRequired />
        </div>
      </Section>
      {(form.isBusy || made.ids.gateway !== undefined) && <Steps made={made} isBusy={form.isBusy} />}
    </RecordForm>
  );
}

function StandInFields({ form }: { readonly form: Form<Draft> }): JSX.Element {
  return (
    <>
      <p>
        A stand-in provider comes with the gateway: it answers chats, streamed or whole, without an account
        and without the internet. Start it in a second terminal, in the folder of the gateway:
      </p>
      <Code text={STAND_IN.command} what="the command that starts the stand-in provider" />
      <p class="hint">
        Where the gateway is a single executable: <code>{STAND_IN.executable}</code>
      </p>
      <More title="It runs elsewhere" form={form} places={["address"]}>
        <TextField form={form} at="address" label="Address" isMono placeholder={STAND_IN.address} />
      </More>
    </>
  );
}

function AccountFields(props: {
  readonly form: Form<Draft>;
  readonly providers: readonly Provider[];
}): JSX.Element {
  const { form, providers } = props;
  const provider = providers.find(({ name }) => name === form.value.provider);
  const { header_name, header_value } = emptyCredential(provider?.format);
  return (
    <>
      <div class="fields inline">
        <ChoiceField
          form={form}
          at="provider"
          label="Provider"
          isRequired
          choices={providers.map(({ name }) => ({ value: name, label: name }))}
        />
        <TextField
          form={form}
          at="credential"
          label="Its API key"
          isMono
          isSecret
          hint={
            <>
              Sent as <code>{`${header_name}: ${header_value}…`}</code>, stored encrypted, never shown again.
            </>
          }
        />
      </div>
      <div class="fields inline">
        <TextField
          form={form}
          at="model"
          label="Default model"
          isMono
          hint="Used where a call names none. Your provider's list has the names."
        />
        <TextField
          form={form}
          at="address"
          label="Address"
          isMono
          isRequired={provider?.base_url === null}
          placeholder={provider?.base_url ?? "https://…"}
          hint={
            provider?.base_url === null
              ? "This provider has an address of your own."
              : "Only if it is another."
          }
        />
      </div>
    </>
  );
}

function targetOf(draft: Draft, providers: readonly Provider[]) {
  const address = draft.address.trim();
  if (!draft.hasAccount) {
    return {
      provider: STAND_IN.provider,
      base_url: address === "" ? STAND_IN.address : address,
      default_model: STAND_IN.model,
      models: [STAND_IN.model],
    };
  }
  const { format } = providers.find(({ name }) => name === draft.provider) ?? {};
  const { header_name, header_value } = emptyCredential(format);
  const credential = draft.credential.trim();
  return {
    provider: draft.provider,
    ...(address !== "" && { base_url: address }),
    ...(draft.model.trim() !== "" && { default_model: draft.model.trim() }),
    ...(credential !== "" && { credentials: { header_name, header_value: header_value + credential } }),
  };
}

/** The API names places of its records; the questions here have other names. */
function placed(fault: unknown, made: FirstRoute): unknown {
  if (!(fault instanceof ApiError)) return fault;
  const names: Readonly<Record<string, string>> = {
    "targets[0].base_url": "address",
    "targets[0].provider": "provider",
    "targets[0].default_model": "model",
    "targets[0].credentials.header_value": "credential",
  };
  const details = fault.details.map((detail) => ({ ...detail, path: names[detail.path] ?? detail.path }));
  const failed = STEPS.find((step) => made.ids[step] === undefined);
  const error =
    failed === undefined ? fault.message : `Making ${STEP_NAMES[failed]} failed: ${fault.message}`;
  return new ApiError(fault.status, { error, code: fault.code, details });
}

function Steps({ made, isBusy }: { readonly made: FirstRoute; readonly isBusy: boolean }): JSX.Element {
  const next = STEPS.find((step) => made.ids[step] === undefined);
  return (
    <ol class="steps" aria-label="Progress">
      {STEPS.map((step) => (
        <li key={step} class={made.ids[step] === undefined ? "open" : "done"}>
          {made.ids[step] !== undefined ? (
            <Icon name="done" />
          ) : isBusy && step === next ? (
            <span class="spinner" aria-hidden="true" />
          ) : (
            <span class="dot" aria-hidden="true" />
          )}
          {STEP_NAMES[step]}
        </li>
      ))}
    </ol>
  );
}

function FirstRouteDone({ made }: { readonly made: FirstRoute }): JSX.Element {
  const gateway = made.ids.gateway ?? "";
  return (
    <div class="card fields">
      <Notice kind="good">
        <p>Everything is in force already; no restart is needed.</p>
      </Notice>
      {made.key !== null && (
        <div>
          <p>
            The API key for your application. <strong>It is shown this once.</strong>
          </p>
          <Code text={made.key} what="the API key" />
        </div>
      )}
      <div class="actions">
        <LinkButton
          to={`/gateways/${gateway}/playground?key=${made.ids.api_key ?? ""}`}
          kind="primary"
          icon="playground"
        >
          Try it in the playground
        </LinkButton>
        <LinkButton to={`/gateways/${gateway}/plugins`} icon="plugins">
          Add a limit
        </LinkButton>
      </div>
    </div>
  );
}
