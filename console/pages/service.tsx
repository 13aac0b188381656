// One service: made, changed, deleted.
import type { JSX } from "preact";
import type { Answer } from "../api/client.ts";
import { collectionPath, listChildren, readChild, saveChild } from "../api/resources.ts";
import type { Service, Upstream } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { EditForm } from "../forms/edit-form.tsx";
import { AreaField, ChoiceField, TextField } from "../forms/inputs.tsx";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import type { PageParameters } from "../state/router.tsx";

export function ServicePage({ parameters }: PageParameters): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useLoad(async (signal) => {
    const [before, upstreams] = await Promise.all([
      readChild(gateway, "services", id, signal),
      listChildren(gateway, "upstreams", signal),
    ]);
    return { before, upstreams };
  }, []);
  return (
    <Page
      title={id === "new" ? "New service" : (loaded.data?.before?.data.name ?? "Service")}
      back={{ to: `/gateways/${gateway}/services`, label: "Services" }}
    >
      <WhenLoaded loaded={loaded} what="the service">
        {({ before, upstreams }) => <ServiceForm gateway={gateway} before={before} upstreams={upstreams} />}
      </WhenLoaded>
    </Page>
  );
}

interface ServiceFormProps {
  readonly gateway: string;
  readonly before: Answer<Service> | null;
  readonly upstreams: readonly Upstream[];
}

function ServiceForm({ gateway, before, upstreams }: ServiceFormProps): JSX.Element {
  const record = before?.data;
  const form = useForm({
    name: record?.name ?? "",
    upstream_id: record?.upstream_id ?? (upstreams.length === 1 ? upstreams[0]?.id : undefined),
    description: record?.description ?? "",
  });
  return (
    <EditForm
      form={form}
      what="service"
      name={form.value.name}
      stored={
        record === undefined
          ? null
          : { path: `${collectionPath(gateway, "services")}/${record.id}`, name: record.name }
      }
      save={(value) => saveChild(gateway, "services", before, value)}
      list={`/gateways/${gateway}/services`}
    >
      <div class="card fields">
        <TextField form={form} at="name" label="Name" isRequired placeholder="chat" />
        <ChoiceField
          form={form}
          at="upstream_id"
          label="Upstream"
          isRequired
          hint={upstreams.length === 0 ? "This gateway has no upstream yet; make one first." : undefined}
          choices={upstreams.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <AreaField form={form} at="description" label="Description" rows={2} />
      </div>
    </EditForm>
  );
}
