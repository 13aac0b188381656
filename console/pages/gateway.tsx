// Page of one gateway: create, edit, delete.
import type { JSX } from "preact";
import { call, type ApiResponse } from "../api/client.ts";
import type { Gateway } from "../api/types.ts";
import { Notice } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { StringListField } from "../forms/collections.tsx";
import { EditForm } from "../forms/edit-form.tsx";
import { ERROR_FORMAT_CHOICES } from "../forms/error-format-choices.ts";
import { CheckboxField, ChoiceField, TextField } from "../forms/inputs.tsx";
import { JwtIssuerFields } from "../forms/jwt-issuer-fields.tsx";
import { copiedId, copyOf } from "../state/copy.ts";
import { loadGateways } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

export function GatewayPage({ parameters }: RoutedPageProps): JSX.Element {
  const id = parameters["gateway"] ?? "";
  const isNew = id === "new";
  const loaded = useLoad(async (signal) => {
    const read = (each: string) => call<Gateway>("GET", `/gateways/${each}`, { signal });
    const copied = copiedId(id);
    return {
      before: isNew ? null : await read(id),
      copied: copied === null ? undefined : (await read(copied)).data,
    };
  }, []);
  return (
    <Page
      title={isNew ? "New gateway" : (loaded.data?.before?.data.name ?? "Gateway")}
      back={{ to: "/gateways", label: "Gateways" }}
    >
      <WhenLoaded loaded={loaded} what="gateway">
        {(data) => <GatewayForm {...data} />}
      </WhenLoaded>
    </Page>
  );
}

function toValue(record: Gateway | undefined) {
  return {
    name: record?.name ?? "",
    subdomain: record?.subdomain ?? null,
    require_api_key: record?.require_api_key ?? false,
    log_bodies: record?.log_bodies ?? false,
    error_format: record?.error_format ?? "gatehouse",
    jwt_issuers: record?.jwt_issuers ?? [],
    cors: record?.cors ?? { origins: [], headers: null, max_age: 600 },
  };
}

interface GatewayFormProps {
  readonly before: ApiResponse<Gateway> | null;
  /** The gateway that a new one begins as a copy of. */
  readonly copied: Gateway | undefined;
}

function GatewayForm({ before, copied }: GatewayFormProps): JSX.Element {
  const record = before?.data;
  // Two gateways cannot have the same subdomain.
  const template = copied === undefined ? undefined : { ...copyOf(copied, copied.name), subdomain: null };
  const form = useStoredForm<ReturnType<typeof toValue>, Gateway>({
    before,
    path: `/gateways/${record?.id}`,
    toValue: (gateway) => toValue(gateway ?? template),
  });
  const save = async ({ cors, ...fields }: typeof form.value) => {
    const value = { ...fields, cors: cors.origins.length === 0 ? null : cors };
    if (record === undefined) await call("POST", "/gateways", { body: { ...template, ...value } });
    else await call("PATCH", `/gateways/${record.id}`, { body: value, etag: form.base()?.etag });
    return [];
  };
  return (
    <EditForm
      form={form}
      kind="gateway"
      name={form.value.name}
      stored={
        record === undefined ? null : { path: `/gateways/${record.id}`, name: record.name, id: record.id }
      }
      save={save}
      listPath="/gateways"
      collection="/gateways"
      onChange={loadGateways}
    >
      {copied !== undefined && (
        <Notice kind="info">
          <p>
            The copy has the settings and plugins of “{copied.name}”, but not its upstreams, services, rules,
            and API keys.
          </p>
        </Notice>
      )}
      <div class="card fields">
        <TextField form={form} path="name" label="Name" isRequired placeholder="acme" />
        <TextField
          form={form}
          path="subdomain"
          label="Subdomain"
          isMono
          emptyValue={null}
          placeholder="acme"
          hint="Requests whose Host header starts with this label go to this gateway. Leave it empty if there is only one gateway or if API keys select the gateway."
        />
        <CheckboxField
          form={form}
          path="require_api_key"
          label="Require an API key"
          hint="Applies to every rule of this gateway that does not override it."
        />
        <CheckboxField
          form={form}
          path="log_bodies"
          label="Log bodies"
          hint="Keeps the first 16 KiB of request and response bodies in the request log, and in REQUEST_LOG_SINK if that is set. Anyone with an admin token can read them."
        />
        <ChoiceField
          form={form}
          path="error_format"
          label="Format of the gateway's errors"
          choices={ERROR_FORMAT_CHOICES}
        />
        <StringListField
          form={form}
          path="cors.origins"
          label="Websites that may call the gateway"
          placeholder="http://127.0.0.1:3000"
          hint="Scripts of these origins may send requests from a browser, one origin per line. * allows every website; leave it empty to allow none."
        />
      </div>
      <Section
        title="Tokens for MCP endpoints"
        description="Users of agents can sign in with tokens of these issuers in place of an API key."
      >
        <JwtIssuerFields form={form} issuers={form.value.jwt_issuers} />
      </Section>
    </EditForm>
  );
}
