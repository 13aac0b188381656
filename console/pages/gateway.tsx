// One gateway: made, changed, deleted.
import type { JSX } from "preact";
import { call, type Answer } from "../api/client.ts";
import type { Gateway } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { EditForm } from "../forms/edit-form.tsx";
import { CheckField, TextField } from "../forms/inputs.tsx";
import { useForm } from "../state/form.ts";
import { loadGateways } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import type { PageParameters } from "../state/router.tsx";

export function GatewayPage({ parameters }: PageParameters): JSX.Element {
  const id = parameters["gateway"] ?? "";
  const isNew = id === "new";
  const loaded = useLoad(
    async (signal) => (isNew ? null : call<Gateway>("GET", `/gateways/${id}`, { signal })),
    [],
  );
  return (
    <Page
      title={isNew ? "New gateway" : (loaded.data?.data.name ?? "Gateway")}
      back={{ to: "/gateways", label: "Gateways" }}
    >
      <WhenLoaded loaded={loaded} what="the gateway">
        {(before) => <GatewayForm before={before} />}
      </WhenLoaded>
    </Page>
  );
}

function GatewayForm({ before }: { readonly before: Answer<Gateway> | null }): JSX.Element {
  const record = before?.data;
  const form = useForm({
    name: record?.name ?? "",
    subdomain: record?.subdomain ?? null,
    require_api_key: record?.require_api_key ?? false,
    log_bodies: record?.log_bodies ?? false,
  });
  const save = async (value: object) => {
    if (record === undefined) await call("POST", "/gateways", { body: value });
    else await call("PATCH", `/gateways/${record.id}`, { body: value, etag: before?.etag });
  };
  return (
    <EditForm
      form={form}
      what="gateway"
      name={form.value.name}
      stored={record === undefined ? null : { path: `/gateways/${record.id}`, name: record.name }}
      save={save}
      list="/gateways"
      onChange={loadGateways}
    >
      <div class="card fields">
        <TextField form={form} at="name" label="Name" isRequired placeholder="acme" />
        <TextField
          form={form}
          at="subdomain"
          label="Subdomain"
          isMono
          empty={null}
          placeholder="acme"
          hint="Calls whose Host starts with this label belong to this gateway. Leave it empty where keys tell gateways apart, or where there is only one."
        />
        <CheckField
          form={form}
          at="require_api_key"
          label="Ask for an API key"
          hint="Every rule of this gateway asks for one, unless the rule itself says otherwise."
        />
        <CheckField
          form={form}
          at="log_bodies"
          label="Keep bodies in the request log"
          hint="Each cut at 16 KiB, in memory only. Whoever has an admin token can read them."
        />
      </div>
    </EditForm>
  );
}
