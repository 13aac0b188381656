// Form fields of one target of an upstream.
import type { JSX } from "preact";
import type { Provider, TargetInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import type { Reorder } from "../components/reorder.tsx";
import { setupOf } from "../state/credential.ts";
import { CredentialFields } from "./credential-fields.tsx";
import { MapField, StringListField } from "./collections.tsx";
import { Disclosure } from "./disclosure.tsx";
import { Field, fieldId, focusField, type FieldSource } from "./field.tsx";
import { FORMAT_CHOICES } from "./format-choices.ts";
import { ChoiceField, NumberField, TextField } from "./inputs.tsx";
import { ProviderPicker } from "./provider-picker.tsx";
import { TestConnection } from "./test-connection.tsx";

interface TargetFieldsProps {
  readonly form: FieldSource;
  readonly gateway: string;
  /** Undefined for an upstream that is not stored yet. */
  readonly upstreamId: string | undefined;
  readonly target: TargetInput;
  readonly index: number;
  readonly providers: readonly Provider[];
  /** Undefined if there is only one target. */
  readonly reorder: Reorder | undefined;
  /** Undefined for the last target: an upstream has at least one. */
  readonly onRemove: (() => void) | undefined;
}

export function TargetFields(props: TargetFieldsProps): JSX.Element {
  const { form, target, index, providers, reorder, onRemove } = props;
  const path = `targets[${index}]`;
  const { provider: name, format } = target;
  const provider = providers.find((each) => each.name === name);
  return (
    <fieldset {...reorder?.itemProps(index)} class="card target" id={fieldId(path)}>
      <legend>
        Target {index + 1}
        {name !== "" && <span class="muted"> · {name}</span>}
      </legend>
      {reorder !== undefined && <div class="target-order">{reorder.controls(index)}</div>}
      <ProviderPicker
        providers={providers}
        chosen={name}
        onChoose={(chosen) => {
          form.set(path, { ...target, ...setupOf(chosen) });
          focusField(`${path}.${chosen.base_url === null ? "base_url" : "provider"}`);
        }}
        onCustom={() => focusField(`${path}.provider`)}
      />
      <ProviderFields form={form} path={path} providers={providers} provider={provider} />
      <CredentialFields
        form={form}
        path={`${path}.credentials`}
        place={{ provider, format: format ?? undefined }}
      />
      <TestConnection gateway={props.gateway} upstreamId={props.upstreamId} target={target} />
      <ModelFields form={form} path={path} />
      <div class="fields inline">
        <NumberField
          form={form}
          path={`${path}.weight`}
          label="Weight"
          placeholder="1"
          hint="Share of the requests. 0 drains the target."
        />
        <NumberField
          form={form}
          path={`${path}.priority`}
          label="Priority"
          placeholder="1"
          hint="Targets with the lowest number are used first."
        />
      </div>
      <RequestFields form={form} path={path} provider={provider} />
      {onRemove !== undefined && (
        <div class="actions end">
          <Button kind="quiet" icon="remove" onClick={onRemove}>
            Remove target {index + 1}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface TargetPartProps {
  readonly form: FieldSource;
  /** Path of the target, such as `targets[0]`. */
  readonly path: string;
}

interface ProviderFieldsProps extends TargetPartProps {
  readonly providers: readonly Provider[];
  readonly provider: Provider | undefined;
}

function ProviderFields({ form, path, providers, provider }: ProviderFieldsProps): JSX.Element {
  const hasDefaultUrl = (provider?.base_url ?? null) !== null;
  return (
    <div class="fields inline">
      <TextField
        form={form}
        path={`${path}.provider`}
        label="Provider"
        isRequired
        suggestions={providers.map(({ name }) => name)}
        hint="A known provider, or any name together with a base URL."
      />
      <TextField
        form={form}
        path={`${path}.base_url`}
        label="Base URL"
        isMono
        emptyValue={null}
        placeholder={provider?.base_url ?? provider?.base_url_example ?? "https://…"}
        isRequired={provider !== undefined && !hasDefaultUrl}
        hint={
          hasDefaultUrl ? "Overrides the provider's URL." : "URL of the provider without the endpoint path."
        }
      />
    </div>
  );
}

function ModelFields({ form, path }: TargetPartProps): JSX.Element {
  return (
    <div class="fields inline">
      <TextField
        form={form}
        path={`${path}.default_model`}
        label="Default model"
        isMono
        emptyValue={null}
        hint="Used if the request has no model, or one that this target does not serve."
      />
      <StringListField
        form={form}
        path={`${path}.models`}
        label="Models"
        hint="One per line. Empty: the target serves all models."
      />
    </div>
  );
}

interface RequestFieldsProps extends TargetPartProps {
  readonly provider: Provider | undefined;
}

function RequestFields({ form, path, provider }: RequestFieldsProps): JSX.Element {
  return (
    <Disclosure
      title="Path, format, headers"
      form={form}
      paths={[`${path}.path`, `${path}.format`, `${path}.headers`]}
    >
      <PathField form={form} path={`${path}.path`} provider={provider} />
      <ChoiceField
        form={form}
        path={`${path}.format`}
        label="Wire format"
        hint={provider === undefined ? undefined : `${provider.name} has ${provider.formats.join(", ")}.`}
        choices={[{ value: null, label: "That of the request, if the provider has it" }, ...FORMAT_CHOICES]}
      />
      <MapField
        form={form}
        path={`${path}.headers`}
        label="Extra headers sent to the provider"
        nameLabel="Header"
        hint="Values that are credentials by the name of their header are stored encrypted and shown masked."
      />
    </Disclosure>
  );
}

interface PathFieldProps {
  readonly form: FieldSource;
  readonly path: string;
  readonly provider: Provider | undefined;
}

/** A missing path, an empty path, and a given path have different meanings, so the choice is explicit. */
function PathField({ form, path, provider }: PathFieldProps): JSX.Element {
  const value = form.get(path);
  const kind = typeof value !== "string" ? "provider" : value === "" ? "request" : "custom";
  const select = (next: string) =>
    form.set(
      path,
      next === "provider"
        ? null
        : next === "request"
          ? ""
          : (provider?.default_path ?? "/v1/chat/completions"),
    );
  return (
    <Field
      form={form}
      path={path}
      label="Path at the provider"
      hint={
        provider === undefined
          ? undefined
          : `Operations of ${provider.name}: ${provider.operations.join(", ")}.`
      }
    >
      <select
        id={fieldId(path)}
        class="input"
        value={kind}
        onChange={(event) => select(event.currentTarget.value)}
      >
        <option value="provider">Endpoint of the provider for each operation</option>
        <option value="request">Path of the request</option>
        <option value="custom">Custom path</option>
      </select>
      {kind === "custom" && (
        <input
          class="input mono"
          aria-label="Path"
          value={typeof value === "string" ? value : ""}
          // An empty path would select "Path of the request".
          onInput={(event) => form.set(path, event.currentTarget.value || "/")}
        />
      )}
    </Field>
  );
}
