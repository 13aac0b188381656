// Page of one service: create, edit, delete.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { childPath, listChildren, readChild, readCopied } from "../api/resources.ts";
import type { McpServer, Service, Upstream } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import type { EditorProps } from "../forms/form-host.ts";
import { ChoiceField, MultiChoiceField, TextAreaField, TextField } from "../forms/inputs.tsx";
import { copyOf } from "../state/copy.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

function useService(gateway: string, id: string) {
  return useLoad(async (signal) => {
    const [before, upstreams, servers, copied] = await Promise.all([
      readChild(gateway, "services", id, signal),
      listChildren(gateway, "upstreams", signal),
      listChildren(gateway, "mcp-servers", signal),
      readCopied(gateway, "services", id, signal),
    ]);
    return { before, upstreams, servers, copied };
  }, []);
}

/** The form of a stored service, without a page. */
export function ServiceEditor({ gateway, id }: EditorProps): JSX.Element {
  return (
    <WhenLoaded loaded={useService(gateway, id)} what="service">
      {(data) => <ServiceForm gateway={gateway} {...data} />}
    </WhenLoaded>
  );
}

export function ServicePage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useService(gateway, id);
  return (
    <Page
      title={id === "new" ? "New service" : (loaded.data?.before?.data.name ?? "Service")}
      back={{ to: `/gateways/${gateway}/services`, label: "Services" }}
    >
      <WhenLoaded loaded={loaded} what="service">
        {(data) => <ServiceForm gateway={gateway} {...data} />}
      </WhenLoaded>
    </Page>
  );
}

const TYPES = [
  { value: "upstream", label: "An upstream: models of providers" },
  { value: "mcp", label: "MCP servers: tools for agents" },
];

const VIRTUAL_MODELS = [
  { value: "own", label: "Only their targets at this upstream" },
  { value: "any", label: "Their targets at any upstream of the gateway" },
];

interface ServiceFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<Service> | null;
  readonly upstreams: readonly Upstream[];
  readonly servers: readonly McpServer[];
  /** The service that a new one begins as a copy of. */
  readonly copied: Service | null;
}

function ServiceForm({ gateway, before, upstreams, servers, copied }: ServiceFormProps): JSX.Element {
  const record = before?.data;
  const form = useStoredForm({
    before,
    path: childPath(gateway, "services", record),
    toValue: (stored) => {
      const service = stored ?? (copied === null ? undefined : copyOf(copied, copied.name));
      return {
        name: service?.name ?? "",
        type: service?.type ?? "upstream",
        upstream_id:
          service?.upstream_id ??
          (service === undefined && upstreams.length === 1 ? upstreams[0]?.id : undefined) ??
          null,
        mcp_server_ids: service?.mcp_server_ids ?? [],
        virtual_models: service?.virtual_models ?? "own",
        description: service?.description ?? "",
      };
    },
  });
  /** The references of the other type are invalid with this one. */
  const selectType = (path: string, type: unknown) => {
    form.set(path, type);
    form.set("upstream_id", null);
    form.set("mcp_server_ids", []);
  };
  return (
    <ChildForm
      gateway={gateway}
      collection="services"
      kind="service"
      form={form}
      nameOf={(id) => [...upstreams, ...servers].find((each) => each.id === id)?.name}
      storedName={record?.name}
      name={form.value.name}
    >
      <div class="card fields">
        <TextField form={form} path="name" label="Name" isRequired placeholder="chat" />
        <ChoiceField form={{ ...form, set: selectType }} path="type" label="Leads to" choices={TYPES} />
        {form.value.type === "mcp" ? (
          <MultiChoiceField
            form={form}
            path="mcp_server_ids"
            label="MCP servers"
            hint="With several servers, tools are named prefix__name."
            choices={servers.map(({ id, name }) => ({ value: id, label: name }))}
          />
        ) : (
          <>
            <ChoiceField
              form={form}
              path="upstream_id"
              label="Upstream"
              isRequired
              hint={
                upstreams.length === 0 ? "This gateway has no upstream yet. Create one first." : undefined
              }
              choices={upstreams.map(({ id, name }) => ({ value: id, label: name }))}
            />
            <ChoiceField form={form} path="virtual_models" label="Virtual models" choices={VIRTUAL_MODELS} />
          </>
        )}
        <TextAreaField form={form} path="description" label="Description" rows={2} />
      </div>
    </ChildForm>
  );
}
