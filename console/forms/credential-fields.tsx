// Form fields of a target's credentials, by their type.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import {
  CREDENTIAL_TYPES,
  credentialTypeOf,
  emptyCredential,
  emptyCredentialOf,
  type KeyPlace,
} from "../state/credential.ts";
import { StringListField } from "./collections.tsx";
import { Field, fieldId, type FieldSource } from "./field.tsx";
import { TextAreaField, TextField } from "./inputs.tsx";

interface CredentialFieldsProps {
  readonly form: FieldSource;
  /** Such as `targets[0].credentials`. */
  readonly path: string;
  /** Where a new API key is sent. */
  readonly place: KeyPlace;
  /** What happens without a credential. */
  readonly without?: string;
}

export function CredentialFields({
  form,
  path,
  place,
  without = "Without one, the client's own provider credential is forwarded.",
}: CredentialFieldsProps): JSX.Element {
  const credentials = form.get(path);
  if (typeof credentials !== "object" || credentials === null) {
    return (
      <div class="field">
        <Button icon="keys" onClick={() => form.set(path, emptyCredential(place))}>
          Add credential
        </Button>
        <p class="hint">{without}</p>
      </div>
    );
  }
  const type = credentialTypeOf(credentials);
  const typePath = `${path}.type`;
  return (
    <>
      <Field
        form={form}
        path={typePath}
        label="Credential type"
        hint={
          <>
            A stored secret is shown masked. It is kept unless you change it. Enter it again if you change the
            provider, the base URL, or where it is sent.{" "}
            <button type="button" class="link-button" onClick={() => form.set(path, null)}>
              Remove credential
            </button>
          </>
        }
      >
        <select
          id={fieldId(typePath)}
          class="input"
          aria-describedby={`${fieldId(typePath)}-hint`}
          value={type}
          onChange={(event) => form.set(path, emptyCredentialOf(event.currentTarget.value, place))}
        >
          {CREDENTIAL_TYPES.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      </Field>
      <FieldsOfType type={type} form={form} path={path} />
    </>
  );
}

interface FieldsOfTypeProps {
  readonly type: string;
  readonly form: FieldSource;
  readonly path: string;
}

function FieldsOfType({ type, form, path }: FieldsOfTypeProps): JSX.Element {
  switch (type) {
    case "aws_sigv4":
      return <AwsFields form={form} path={path} />;
    case "gcp_service_account":
      return <ServiceAccountFields form={form} path={path} />;
    case "azure_client":
      return <ClientFields form={form} path={path} place="tenant_id" placeLabel="Tenant id" />;
    case "oauth_client_credentials":
      return <ClientFields form={form} path={path} place="token_url" placeLabel="Token URL" />;
    default:
      return (
        <div class="fields inline">
          <TextField form={form} path={`${path}.header_name`} label="Credential header" isMono isRequired />
          <TextField
            form={form}
            path={`${path}.header_value`}
            label="Credential"
            isMono
            isSecret
            isRequired
          />
        </div>
      );
  }
}

type TypeFieldsProps = Omit<FieldsOfTypeProps, "type">;

function AwsFields({ form, path }: TypeFieldsProps): JSX.Element {
  return (
    <>
      <div class="fields inline">
        <TextField
          form={form}
          path={`${path}.region`}
          label="Region"
          isMono
          isRequired
          placeholder="us-east-1"
        />
        <TextField
          form={form}
          path={`${path}.service`}
          label="Service"
          isMono
          isRequired
          placeholder="bedrock"
        />
      </div>
      <div class="fields inline">
        <TextField
          form={form}
          path={`${path}.access_key_id`}
          label="Access key id"
          isMono
          emptyValue={null}
          hint="Without keys, the role of the gateway's environment signs, if ALLOW_ENVIRONMENT_CREDENTIALS is true."
        />
        <TextField
          form={form}
          path={`${path}.secret_access_key`}
          label="Secret access key"
          isMono
          isSecret
          emptyValue={null}
        />
      </div>
      <TextField
        form={form}
        path={`${path}.session_token`}
        label="Session token"
        isMono
        isSecret
        emptyValue={null}
        hint="Only of temporary keys."
      />
    </>
  );
}

function ServiceAccountFields({ form, path }: TypeFieldsProps): JSX.Element {
  return (
    <>
      <TextAreaField
        form={form}
        path={`${path}.service_account`}
        label="Service account"
        isMono
        isRequired
        hint="The content of the JSON key file."
      />
      <StringListField form={form} path={`${path}.scopes`} label="Scopes" />
    </>
  );
}

interface ClientFieldsProps extends TypeFieldsProps {
  /** The field that decides where the secret is sent. */
  readonly place: string;
  readonly placeLabel: string;
}

function ClientFields({ form, path, place, placeLabel }: ClientFieldsProps): JSX.Element {
  const isOptional = place === "token_url";
  return (
    <>
      <div class="fields inline">
        <TextField form={form} path={`${path}.${place}`} label={placeLabel} isMono isRequired />
        <TextField
          form={form}
          path={`${path}.scope`}
          label="Scope"
          isMono
          emptyValue={isOptional ? null : undefined}
        />
      </div>
      <div class="fields inline">
        <TextField form={form} path={`${path}.client_id`} label="Client id" isMono isRequired />
        <TextField
          form={form}
          path={`${path}.client_secret`}
          label="Client secret"
          isMono
          isSecret
          isRequired
        />
      </div>
    </>
  );
}
