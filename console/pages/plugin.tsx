// Page of one plugin of a gateway: when it runs, and its settings as a generated form or as JSON.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { call, type ApiResponse } from "../api/client.ts";
import { listPlugins } from "../api/resources.ts";
import type { Gateway, Plugin, PluginConfig, PluginConfigInput } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { ISOLATION_LABELS, ON_ERROR_LABELS, PLUGIN_MODE_LABELS } from "../components/labels.ts";
import { Empty } from "../components/notice.tsx";
import { PluginShadowReport } from "../components/plugin-shadow.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { CheckboxField, ChoiceField, NumberField } from "../forms/inputs.tsx";
import { FieldErrors } from "../forms/field.tsx";
import { JsonField } from "../forms/json-field.tsx";
import { initialValue, type JsonSchema } from "../forms/json-schema.ts";
import { RecordForm } from "../forms/record-form.tsx";
import { SchemaFields } from "../forms/schema-field.tsx";
import { showToast } from "../state/dialogs.ts";
import type { Form } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import { navigate, route, type RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

export function PluginPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const listPath = `/gateways/${gateway}/plugins`;
  const loaded = useLoad(async (signal) => {
    const [response, plugins] = await Promise.all([
      call<Gateway>("GET", `/gateways/${gateway}`, { signal }),
      listPlugins(signal),
    ]);
    return { response, plugins };
  }, []);
  // The list as it was read first: a later one may have another plugin at this index.
  const list = useRef<readonly PluginConfig[] | undefined>(undefined);
  list.current ??= loaded.data?.response.data.required_plugins;
  const index = id === "new" ? (list.current?.length ?? 0) : Number(id);
  const existing = list.current?.[index];
  const name = existing?.name ?? route.value.search.get("name") ?? "";
  return (
    <Page
      title={id === "new" ? `Add ${name}` : name || "Plugin"}
      description={loaded.data?.plugins.find((plugin) => plugin.name === name)?.description}
      back={{ to: listPath, label: "Plugins" }}
    >
      <WhenLoaded loaded={loaded} what="plugin">
        {({ response, plugins }) => {
          const plugin = plugins.find((each) => each.name === name);
          if (plugin === undefined || (id !== "new" && existing === undefined)) {
            return (
              <Empty title="Plugin not found" action={<LinkButton to={listPath}>Back to plugins</LinkButton>}>
                It was removed from this gateway or from the plugins directory.
              </Empty>
            );
          }
          return (
            <>
              {existing !== undefined && <PluginShadowReport gateway={gateway} index={index} />}
              <PluginForm
                response={response}
                index={index}
                isNew={id === "new"}
                plugin={plugin}
                listPath={listPath}
              />
            </>
          );
        }}
      </WhenLoaded>
    </Page>
  );
}

interface PluginFormProps {
  readonly response: ApiResponse<Gateway>;
  readonly index: number;
  readonly isNew: boolean;
  readonly plugin: Plugin;
  readonly listPath: string;
}

function newPlugin(plugin: Plugin): Partial<PluginConfigInput> {
  const schema = plugin.settings_schema as JsonSchema;
  const [stage] = plugin.stages;
  return {
    name: plugin.name,
    enabled: true,
    ...(stage !== undefined && { stage }),
    priority: 1,
    settings: (initialValue(schema, schema) ?? {}) as Record<string, unknown>,
    on_error: "fail",
    mode: plugin.default_mode,
    sample: 1,
    isolation: "inline",
  };
}

/** Returns where the entry is located in a list that may have changed: at its index, else at the first one of its name. */
function positionIn(list: readonly PluginConfig[], index: number, name: string): number {
  if (list[index]?.name === name) return index;
  const other = list.findIndex((config) => config.name === name);
  return other === -1 ? list.length : other;
}

function PluginForm({ response, index, isNew, plugin, listPath }: PluginFormProps): JSX.Element {
  const schema = plugin.settings_schema as JsonSchema;
  const position = (list: readonly PluginConfig[]) =>
    isNew ? list.length : positionIn(list, index, plugin.name);
  const path = `/gateways/${response.data.id}`;
  const form = useStoredForm<Partial<PluginConfigInput>, Gateway>({
    before: response,
    path,
    toValue: (gateway) => {
      const list = gateway?.required_plugins ?? [];
      return list[position(list)] ?? newPlugin(plugin);
    },
    prefix: `required_plugins[${index}]`,
  });
  const save = async () => {
    const isSaved = await form.submit(async (value) => {
      const { data, etag } = form.base() ?? response;
      const required_plugins: unknown[] = [...data.required_plugins];
      required_plugins[position(data.required_plugins)] = value;
      await call("PATCH", path, { body: { required_plugins }, etag });
    });
    if (!isSaved) return;
    showToast(`Saved ${plugin.name}.`);
    await navigate(listPath);
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void save()}
      operation={`PATCH /gateways/${response.data.id}`}
      submit={isNew ? `Add ${plugin.name}` : "Save"}
      cancel={listPath}
    >
      <div class="card fields inline narrow">
        <CheckboxField form={form} path="enabled" label="Enabled" defaultValue />
        <ChoiceField
          form={form}
          path="stage"
          label="Stage"
          choices={plugin.stages.map((each) => ({ value: each, label: each }))}
        />
        <NumberField form={form} path="priority" label="Priority" placeholder="1" hint="Lower runs first." />
        <ChoiceField
          form={form}
          path="on_error"
          label="If the plugin fails"
          choices={Object.entries(ON_ERROR_LABELS).map(([value, label]) => ({ value, label }))}
        />
        <ChoiceField
          form={form}
          path="mode"
          label="Mode"
          choices={Object.entries(PLUGIN_MODE_LABELS).map(([value, label]) => ({ value, label }))}
        />
        <ChoiceField
          form={form}
          path="isolation"
          label="Runs"
          choices={Object.entries(ISOLATION_LABELS).map(([value, label]) => ({ value, label }))}
        />
        {form.value.mode === "shadow" && (
          <NumberField
            form={form}
            path="sample"
            label="Sample"
            placeholder="1"
            hint="Share of the requests, from 0 to 1."
          />
        )}
      </div>
      <Settings form={form} schema={schema} />
    </RecordForm>
  );
}

interface SettingsProps {
  readonly form: Form<Partial<PluginConfigInput>>;
  readonly schema: JsonSchema;
}

function Settings({ form, schema }: SettingsProps): JSX.Element {
  const [isJson, setJson] = useState(false);
  const isObject = typeof form.value.settings === "object";
  const hasFields = Object.keys(schema.properties ?? {}).length > 0;
  return (
    <Section
      title="Settings"
      actions={
        <div class="button-group" role="group" aria-label="Edit settings as">
          <Button isPressed={!isJson} onClick={() => setJson(false)} isDisabled={!isObject}>
            Form
          </Button>
          <Button isPressed={isJson} onClick={() => setJson(true)}>
            JSON
          </Button>
        </div>
      }
    >
      {isJson ? (
        <div class="card">
          <JsonField form={form} path="settings" label="Settings (JSON)" rows={18} />
        </div>
      ) : (
        <div class="card fields">
          {!hasFields && <p class="muted">This plugin does not describe its settings. Edit them as JSON.</p>}
          <SchemaFields form={form} path="settings" schema={schema} root={schema} />
          <FieldErrors form={form} path="settings" isShallow />
        </div>
      )}
    </Section>
  );
}
