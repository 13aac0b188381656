// The fields of one target of an upstream.
import type { JSX } from "preact";
import type { Provider } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { LinesField, MapField } from "./collections.tsx";
import { Field, idOf, type FieldSource } from "./field.tsx";
import { ChoiceField, NumberField, TextField } from "./inputs.tsx";
import { More } from "./more.tsx";

export interface TargetFieldsProps {
  readonly form: FieldSource;
  readonly index: number;
  readonly providers: readonly Provider[];
  /** Absent for the only one: an upstream has at least one. */
  readonly onRemove: (() => void) | undefined;
}

export function TargetFields({ form, index, providers, onRemove }: TargetFieldsProps): JSX.Element {
  const at = `targets[${index}]`;
  const chosen = form.get(`${at}.provider`);
  const provider = providers.find(({ name }) => name === chosen);
  return (
    <fieldset class="card target" id={idOf(at)}>
      <legend>
        Target {index + 1}
        {typeof chosen === "string" && chosen !== "" && <span class="soft"> · {chosen}</span>}
      </legend>
      <div class="fields inline">
        <TextField
          form={form}
          at={`${at}.provider`}
          label="Provider"
          isRequired
          suggestions={providers.map(({ name }) => name)}
          hint="A known one, or any name together with an address."
        />
        <TextField
          form={form}
          at={`${at}.base_url`}
          label="Address"
          isMono
          empty={null}
          placeholder={provider?.base_url ?? "https://…"}
          isRequired={provider !== undefined && provider.base_url === null}
          hint={
            (provider?.base_url ?? null) === null
              ? "Where it is, without the path of the endpoint."
              : "Only to go elsewhere than to the provider itself."
          }
        />
      </div>
      <CredentialFields form={form} at={`${at}.credentials`} format={provider?.format} />
      <div class="fields inline">
        <TextField
          form={form}
          at={`${at}.default_model`}
          label="Default model"
          isMono
          empty={null}
          hint="Used where a request names none, or one that is not served here."
        />
        <LinesField
          form={form}
          at={`${at}.models`}
          label="Models"
          hint="One a line. None means that it serves all."
        />
      </div>
      <div class="fields inline">
        <NumberField
          form={form}
          at={`${at}.weight`}
          label="Weight"
          placeholder="1"
          hint="Share of requests; 0 drains it."
        />
        <NumberField
          form={form}
          at={`${at}.priority`}
          label="Priority"
          placeholder="1"
          hint="Lower serves first."
        />
      </div>
      <More
        title="Path, format, headers"
        form={form}
        places={[`${at}.path`, `${at}.format`, `${at}.headers`]}
      >
        <PathField form={form} at={`${at}.path`} defaultPath={provider?.default_path} />
        <ChoiceField
          form={form}
          at={`${at}.format`}
          label="Wire format"
          choices={[
            { value: null, label: "the provider's own" },
            { value: "openai", label: "openai" },
            { value: "anthropic", label: "anthropic" },
          ]}
        />
        <MapField
          form={form}
          at={`${at}.headers`}
          label="Extra headers sent to the provider"
          nameLabel="Header"
        />
      </More>
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

interface CredentialFieldsProps {
  readonly form: FieldSource;
  readonly at: string;
  readonly format: string | undefined;
}

function CredentialFields({ form, at, format }: CredentialFieldsProps): JSX.Element {
  const credentials = form.get(at);
  if (typeof credentials !== "object" || credentials === null) {
    return (
      <div class="field">
        <Button icon="keys" onClick={() => form.set(at, emptyCredential(format))}>
          Add a credential
        </Button>
        <p class="hint">Without one, the client's own provider credential is passed on.</p>
      </div>
    );
  }
  return (
    <div class="fields inline">
      <TextField form={form} at={`${at}.header_name`} label="Credential header" isMono isRequired />
      <TextField
        form={form}
        at={`${at}.header_value`}
        label="Credential"
        isMono
        isSecret
        isRequired
        hint={
          <>
            A stored one comes back masked and is kept unless you change it.{" "}
            <button type="button" class="as-link" onClick={() => form.set(at, null)}>
              Remove it
            </button>
          </>
        }
      />
    </div>
  );
}

/** The header that providers of a format expect, ready for the key to be pasted behind it. */
export function emptyCredential(format: string | undefined): { header_name: string; header_value: string } {
  return format === "anthropic"
    ? { header_name: "x-api-key", header_value: "" }
    : { header_name: "Authorization", header_value: "Bearer " };
}

interface PathFieldProps {
  readonly form: FieldSource;
  readonly at: string;
  readonly defaultPath: string | undefined;
}

/** Absent, empty and given mean three different things, so the choice is written out. */
function PathField({ form, at, defaultPath }: PathFieldProps): JSX.Element {
  const value = form.get(at);
  const kind = typeof value !== "string" ? "provider" : value === "" ? "request" : "own";
  const id = idOf(at);
  return (
    <Field form={form} at={at} label="Path at the provider">
      <select
        id={id}
        class="input"
        value={kind}
        onChange={(event) => {
          const next = event.currentTarget.value;
          form.set(
            at,
            next === "provider" ? null : next === "request" ? "" : (defaultPath ?? "/v1/chat/completions"),
          );
        }}
      >
        <option value="provider">
          its chat endpoint{defaultPath === undefined ? "" : ` (${defaultPath})`}
        </option>
        <option value="request">the path of the request</option>
        <option value="own">this path:</option>
      </select>
      {kind === "own" && (
        <input
          class="input mono"
          aria-label="Path"
          value={typeof value === "string" ? value : ""}
          // An empty path would mean another choice.
          onInput={(event) => form.set(at, event.currentTarget.value || "/")}
        />
      )}
    </Field>
  );
}
