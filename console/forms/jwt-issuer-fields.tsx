// Issuers of the tokens that a gateway accepts at its MCP endpoints, and the claims that identify their clients.
import type { JSX } from "preact";
import type { Gateway } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { MapField } from "./collections.tsx";
import { FieldErrors, fieldId, type FieldSource } from "./field.tsx";
import { TextField } from "./inputs.tsx";

type JwtIssuer = Gateway["jwt_issuers"][number];

const PATH = "jwt_issuers";
const NEW_ISSUER: JwtIssuer = {
  issuer: "",
  audience: "",
  jwks_url: "",
  claims: { user: "sub", labels: {}, tools: null },
};

interface JwtIssuerFieldsProps {
  readonly form: FieldSource;
  readonly issuers: readonly JwtIssuer[];
}

export function JwtIssuerFields({ form, issuers }: JwtIssuerFieldsProps): JSX.Element {
  return (
    <>
      {issuers.map((_, index) => (
        <IssuerFields
          // Fields of maps keep their rows, so that an issuer that moves up needs new ones.
          key={`${index} of ${issuers.length}`}
          form={form}
          index={index}
          onRemove={() => form.set(PATH, issuers.toSpliced(index, 1))}
        />
      ))}
      <FieldErrors form={form} path={PATH} isShallow />
      <Button icon="add" onClick={() => form.set(PATH, [...issuers, NEW_ISSUER])}>
        Add issuer
      </Button>
    </>
  );
}

interface IssuerFieldsProps {
  readonly form: FieldSource;
  readonly index: number;
  readonly onRemove: () => void;
}

function IssuerFields({ form, index, onRemove }: IssuerFieldsProps): JSX.Element {
  const path = `${PATH}[${index}]`;
  return (
    <fieldset class="card target" id={fieldId(path)}>
      <legend>Issuer {index + 1}</legend>
      <div class="fields">
        <TextField
          form={form}
          path={`${path}.issuer`}
          label="Issuer"
          isRequired
          isMono
          placeholder="https://…"
          hint="The claim iss of its tokens."
        />
        <TextField
          form={form}
          path={`${path}.audience`}
          label="Audience"
          isRequired
          isMono
          placeholder="https://…/mcp"
          hint="A value that the claim aud must contain, such as the address of the MCP endpoint."
        />
        <TextField
          form={form}
          path={`${path}.jwks_url`}
          label="Address of its keys"
          isRequired
          isMono
          placeholder="https://…/.well-known/jwks.json"
          hint="The JSON Web Key Set with the public keys of the issuer."
        />
        <div class="fields inline">
          <TextField form={form} path={`${path}.claims.user`} label="Claim with the user" isMono />
          <TextField
            form={form}
            path={`${path}.claims.tools`}
            label="Claim with the tools"
            isMono
            emptyValue={null}
            placeholder="mcp_tools"
            hint="Patterns, as in API keys. A token without the claim may use none. Empty: all tools."
          />
        </div>
        <MapField
          form={form}
          path={`${path}.claims.labels`}
          label="Claims with labels"
          nameLabel="Label"
          valueLabel="Claim"
          hint="Usage and budgets use the labels as those of API keys."
        />
        <FieldErrors form={form} path={path} isShallow />
        <div class="actions end">
          <Button kind="quiet" icon="remove" onClick={onRemove}>
            Remove issuer {index + 1}
          </Button>
        </div>
      </div>
    </fieldset>
  );
}
