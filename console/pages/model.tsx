// Page of one virtual model: create, edit, delete.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { childPath, listChildren, readChild, readCopied } from "../api/resources.ts";
import type { Upstream, VirtualModel, VirtualModelInput } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { ChildForm } from "../forms/child-form.tsx";
import type { EditorProps } from "../forms/form-host.ts";
import { newTarget } from "../forms/model-target.tsx";
import { ModelFields } from "../forms/model-fields.tsx";
import { copyOf } from "../state/copy.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

function useModel(gateway: string, id: string) {
  return useLoad(async (signal) => {
    const [before, upstreams, models, copied] = await Promise.all([
      readChild(gateway, "models", id, signal),
      listChildren(gateway, "upstreams", signal),
      listChildren(gateway, "models", signal),
      readCopied(gateway, "models", id, signal),
    ]);
    return { before, upstreams, models, copied };
  }, []);
}

/** The form of a virtual model, without a page. */
export function ModelEditor({ gateway, id }: EditorProps): JSX.Element {
  return (
    <WhenLoaded loaded={useModel(gateway, id)} what="virtual model">
      {(data) => <ModelForm gateway={gateway} {...data} />}
    </WhenLoaded>
  );
}

export function ModelPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useModel(gateway, id);
  return (
    <Page
      title={id === "new" ? "New virtual model" : (loaded.data?.before?.data.name ?? "Virtual model")}
      back={{ to: `/gateways/${gateway}/models`, label: "Virtual models" }}
    >
      <WhenLoaded loaded={loaded} what="virtual model">
        {(data) => <ModelForm gateway={gateway} {...data} />}
      </WhenLoaded>
    </Page>
  );
}

interface ModelFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<VirtualModel> | null;
  readonly upstreams: readonly Upstream[];
  readonly models: readonly VirtualModel[];
  /** The virtual model that a new one begins as a copy of. */
  readonly copied: VirtualModel | null;
}

function newModel({ upstreams, copied }: ModelFormProps): VirtualModelInput {
  if (copied !== null) {
    const copy = copyOf(copied, copied.name);
    // A name belongs to one virtual model only, and a pattern ends in an asterisk.
    const name = copied.name.endsWith("*") ? `${copied.name.slice(0, -1)}copy-*` : copy.name;
    return { ...copy, name, aliases: [] };
  }
  return { name: "", targets: [{ ...newTarget(upstreams), weight: 1 }] };
}

function ModelForm(props: ModelFormProps): JSX.Element {
  const { gateway, before, upstreams, models } = props;
  const record = before?.data;
  const form = useStoredForm<VirtualModelInput, VirtualModel>({
    before,
    path: childPath(gateway, "models", record),
    toValue: (stored) => stored ?? newModel(props),
  });
  return (
    <ChildForm
      gateway={gateway}
      collection="models"
      kind="virtual model"
      form={form}
      nameOf={(id) => upstreams.find((upstream) => upstream.id === id)?.name}
      storedName={record?.name}
      name={form.value.name}
    >
      <ModelFields
        form={form}
        upstreams={upstreams}
        others={models.filter(({ id }) => id !== record?.id).map(({ name }) => name)}
      />
    </ChildForm>
  );
}
