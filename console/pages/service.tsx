// Page of one service: create, edit, delete.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { childPath, listChildren, readChild, readCopied } from "../api/resources.ts";
import type { Service, Upstream } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import type { EditorProps } from "../forms/form-host.ts";
import { ChoiceField, TextAreaField, TextField } from "../forms/inputs.tsx";
import { copyOf } from "../state/copy.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

function useService(gateway: string, id: string) {
  return useLoad(async (signal) => {
    const [before, upstreams, copied] = await Promise.all([
      readChild(gateway, "services", id, signal),
      listChildren(gateway, "upstreams", signal),
      readCopied(gateway, "services", id, signal),
    ]);
    return { before, upstreams, copied };
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

const VIRTUAL_MODELS = [
  { value: "own", label: "Only their targets at this upstream" },
  { value: "any", label: "Their targets at any upstream of the gateway" },
];

interface ServiceFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<Service> | null;
  readonly upstreams: readonly Upstream[];
  /** The service that a new one begins as a copy of. */
  readonly copied: Service | null;
}

function ServiceForm({ gateway, before, upstreams, copied }: ServiceFormProps): JSX.Element {
  const record = before?.data;
  const form = useStoredForm({
    before,
    path: childPath(gateway, "services", record),
    toValue: (stored) => {
      const service = stored ?? (copied === null ? undefined : copyOf(copied, copied.name));
      return {
        name: service?.name ?? "",
        upstream_id: service?.upstream_id ?? (upstreams.length === 1 ? upstreams[0]?.id : undefined),
        virtual_models: service?.virtual_models ?? "own",
        description: service?.description ?? "",
      };
    },
  });
  return (
    <ChildForm
      gateway={gateway}
      collection="services"
      kind="service"
      form={form}
      nameOf={(id) => upstreams.find((upstream) => upstream.id === id)?.name}
      storedName={record?.name}
      name={form.value.name}
    >
      <div class="card fields">
        <TextField form={form} path="name" label="Name" isRequired placeholder="chat" />
        <ChoiceField
          form={form}
          path="upstream_id"
          label="Upstream"
          isRequired
          hint={upstreams.length === 0 ? "This gateway has no upstream yet. Create one first." : undefined}
          choices={upstreams.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <ChoiceField form={form} path="virtual_models" label="Virtual models" choices={VIRTUAL_MODELS} />
        <TextAreaField form={form} path="description" label="Description" rows={2} />
      </div>
    </ChildForm>
  );
}
