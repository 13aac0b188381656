// Fields of the setup page that describe the provider.
import type { JSX } from "preact";
import type { Provider } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { emptyCredential } from "../state/credential.ts";
import { FAKE_PROVIDER, type Draft } from "../state/first-run-draft.ts";
import type { Form } from "../state/form.ts";
import { StringListField } from "./collections.tsx";
import { Disclosure } from "./disclosure.tsx";
import { focusField } from "./field.tsx";
import { TextField } from "./inputs.tsx";
import { ProviderPicker } from "./provider-picker.tsx";

interface FieldsProps {
  readonly form: Form<Draft>;
}

interface ProviderFieldsProps extends FieldsProps {
  readonly providers: readonly Provider[];
}

export function ProviderFields({ form, providers }: ProviderFieldsProps): JSX.Element {
  const { hasAccount } = form.value;
  return (
    <div class="card fields">
      <div class="button-group" role="group" aria-label="Provider account">
        <Button isPressed={!hasAccount} onClick={() => form.set("hasAccount", false)}>
          Use the fake provider
        </Button>
        <Button isPressed={hasAccount} onClick={() => form.set("hasAccount", true)}>
          I have a provider account
        </Button>
      </div>
      {hasAccount ? <AccountFields form={form} providers={providers} /> : <FakeProviderFields form={form} />}
    </div>
  );
}

function FakeProviderFields({ form }: FieldsProps): JSX.Element {
  return (
    <>
      <p>
        The gateway includes a fake provider for tests. It responds to chat requests without an account or
        internet access. Start it in a second terminal in the gateway's directory:
      </p>
      <Code text={FAKE_PROVIDER.command} what="command" />
      <p class="hint">
        If you installed the single executable: <code>{FAKE_PROVIDER.executableCommand}</code>
      </p>
      <Disclosure title="Use another address" form={form} paths={["baseUrl"]}>
        <TextField form={form} path="baseUrl" label="Base URL" isMono placeholder={FAKE_PROVIDER.baseUrl} />
      </Disclosure>
    </>
  );
}

function AccountFields({ form, providers }: ProviderFieldsProps): JSX.Element {
  const provider = providers.find(({ name }) => name === form.value.provider);
  const needsBaseUrl = provider?.base_url === null;
  const { header_name, header_value } = emptyCredential({ provider });
  return (
    <>
      <ProviderPicker
        providers={providers}
        chosen={form.value.provider}
        isInitiallyOpen
        onChoose={({ name, group, base_url_example }) => {
          form.set("provider", name);
          form.set("baseUrl", group === "self_hosted" ? (base_url_example ?? "") : "");
          focusField("credential");
        }}
      />
      <div class="fields inline">
        <TextField
          form={form}
          path="credential"
          label="Provider API key"
          isMono
          isSecret
          hint={
            <>
              Sent as <code>{`${header_name}: ${header_value}…`}</code>. Stored encrypted and shown masked.
            </>
          }
        />
      </div>
      <div class="fields inline">
        <StringListField
          form={form}
          path="models"
          label="Models"
          hint="One per line. The first one replaces models that are not in the list. Empty: all models."
        />
        <TextField
          form={form}
          path="baseUrl"
          label="Base URL"
          isMono
          isRequired={needsBaseUrl}
          placeholder={provider?.base_url ?? provider?.base_url_example ?? "https://…"}
          hint={
            needsBaseUrl ? "Your account has its own URL at this provider." : "Overrides the default URL."
          }
        />
      </div>
    </>
  );
}
