// One service: made, changed, deleted.
import type { JSX } from "preact";
import type { Answer } from "../api/client.ts";
import { collectionPath, listChildren, readChild, saveChild } from "../api/resources.ts";
import type { Service, Upstream } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { AreaField, ChoiceField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { confirmDelete } from "../state/delete.ts";
import { say } from "../state/dialogs.ts";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import { go, type PageParameters } from "../state/router.tsx";

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
  const list = `/gateways/${gateway}/services`;
  const record = before?.data;
  const form = useForm({
    name: record?.name ?? "",
    upstream_id: record?.upstream_id ?? (upstreams.length === 1 ? upstreams[0]?.id : undefined),
    description: record?.description ?? "",
  });
  const save = async () => {
    if (!(await form.submit((value) => saveChild(gateway, "services", before, value)))) return;
    say(`Saved the service “${form.value.name}”.`);
    await go(list);
  };
  const remove = async () => {
    if (record === undefined) return;
    const path = `${collectionPath(gateway, "services")}/${record.id}`;
    if (await confirmDelete({ what: "service", name: record.name, path })) await go(list);
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void save()}
      submit={record === undefined ? "Create service" : "Save"}
      cancel={list}
      extra={
        record !== undefined && (
          <Button kind="danger" icon="remove" onClick={() => void remove()}>
            Delete
          </Button>
        )
      }
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
    </RecordForm>
  );
}
