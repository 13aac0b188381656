// Creates an admin token, which is shown once.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call } from "../api/client.ts";
import type { AdminTokenInput, AdminTokenWithToken } from "../api/types.ts";
import { LinkButton } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { Notice } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";
import { GatewayListField } from "../forms/gateway-filter.tsx";
import { ChoiceField, DateTimeField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { useForm } from "../state/form.ts";

const LIST = "/administrators";
const DAY_MS = 86_400_000;

const ROLES = [
  { value: "viewer", label: "viewer: reads everything but admin tokens and the audit log" },
  {
    value: "operator",
    label: "operator: also changes everything but API keys, credentials, and administrators",
  },
  { value: "owner", label: "owner: does everything" },
];

export function NewAdministratorPage(): JSX.Element {
  const [created, setCreated] = useState<AdminTokenWithToken | null>(null);
  return (
    <Page title="New admin token" back={{ to: LIST, label: "Administrators" }}>
      {created === null ? <TokenForm onCreated={setCreated} /> : <CreatedToken created={created} />}
    </Page>
  );
}

function TokenForm({
  onCreated,
}: {
  readonly onCreated: (created: AdminTokenWithToken) => void;
}): JSX.Element {
  const form = useForm<AdminTokenInput>({
    name: "",
    role: "viewer",
    gateways: [],
    expires_at: new Date(Date.now() + 90 * DAY_MS).toISOString(),
  });
  const create = async () => {
    let created: AdminTokenWithToken | null = null;
    const isCreated = await form.submit(async ({ gateways: ids, ...value }) => {
      const body = { ...value, gateways: (ids ?? []).length === 0 ? null : ids };
      created = (await call<AdminTokenWithToken>("POST", "/iam/admin-tokens", { body })).data;
    });
    if (isCreated && created !== null) onCreated(created);
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void create()}
      operation="POST /iam/admin-tokens"
      submit="Create admin token"
      cancel={LIST}
    >
      <div class="card fields">
        <TextField
          form={form}
          path="name"
          label="Name"
          isRequired
          placeholder="deploy pipeline"
          hint="The history and the audit log show it."
        />
        <ChoiceField form={form} path="role" label="Role" choices={ROLES} />
        <GatewayListField
          form={form}
          path="gateways"
          label="Gateways"
          none="All gateways"
          hint="Select gateways to limit the token to them. Role and gateways cannot be changed later."
        />
        <DateTimeField form={form} path="expires_at" label="Expires" hint="In your time zone." />
      </div>
    </RecordForm>
  );
}

function CreatedToken({ created }: { readonly created: AdminTokenWithToken }): JSX.Element {
  return (
    <div class="card">
      <Notice kind="good">
        <p>
          Copy the admin token “{created.name}” now. <strong>It is shown only once.</strong>
        </p>
      </Notice>
      <Code text={created.token} what="admin token" />
      <p class="hint">
        Paste it on the sign-in page of the console, or send it in <code>Authorization: Bearer …</code> to the
        Admin API.
      </p>
      <div class="actions">
        <LinkButton to={LIST} kind="primary">
          Back to administrators
        </LinkButton>
      </div>
    </div>
  );
}
