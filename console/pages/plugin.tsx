// One plugin of a gateway: when it runs, and its settings as a form drawn from the plugin's own schema, or as JSON.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, type Answer } from "../api/client.ts";
import { listPlugins } from "../api/resources.ts";
import type { Gateway, Plugin, PluginConfigInput } from "../api/types.ts";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { CheckField, ChoiceField, NumberField } from "../forms/inputs.tsx";
import { FieldFaults } from "../forms/field.tsx";
import { JsonField } from "../forms/json-field.tsx";
import { startOf, type JsonSchema } from "../forms/json-schema.ts";
import { RecordForm } from "../forms/record-form.tsx";
import { SchemaFields } from "../forms/schema-field.tsx";
import { say } from "../state/dialogs.ts";
import { useForm } from "../state/form.ts";
import { useLoad } from "../state/load.ts";
import { go, place, type PageParameters } from "../state/router.tsx";

export function PluginPage({ parameters }: PageParameters): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const list = `/gateways/${gateway}/plugins`;
  const loaded = useLoad(async (signal) => {
    const [answer, plugins] = await Promise.all([
      call<Gateway>("GET", `/gateways/${gateway}`, { signal }),
      listPlugins(signal),
    ]);
    return { answer, plugins };
  }, []);
  const index = id === "new" ? (loaded.data?.answer.data.required_plugins.length ?? 0) : Number(id);
  const existing = loaded.data?.answer.data.required_plugins[index];
  const name = existing?.name ?? place.value.search.get("name") ?? "";
  return (
    <Page
      title={id === "new" ? `Add ${name}` : name || "Plugin"}
      about={loaded.data?.plugins.find((plugin) => plugin.name === name)?.description}
      back={{ to: list, label: "Plugins" }}
    >
      <WhenLoaded loaded={loaded} what="the plugin">
        {({ answer, plugins }) => {
          const plugin = plugins.find((each) => each.name === name);
          if (plugin === undefined || (id !== "new" && existing === undefined)) {
            return (
              <Empty title="No such plugin" action={<LinkButton to={list}>To the list</LinkButton>}>
                It may have been removed from this gateway, or from the plugins folder.
              </Empty>
            );
          }
          return <PluginForm answer={answer} index={index} plugin={plugin} list={list} />;
        }}
      </WhenLoaded>
    </Page>
  );
}

interface PluginFormProps {
  readonly answer: Answer<Gateway>;
  readonly index: number;
  readonly plugin: Plugin;
  readonly list: string;
}

function PluginForm({ answer, index, plugin, list }: PluginFormProps): JSX.Element {
  const existing = answer.data.required_plugins[index];
  const schema = plugin.settings_schema as JsonSchema;
  const [stage] = plugin.stages;
  const form = useForm<Partial<PluginConfigInput>>(
    existing ?? {
      name: plugin.name,
      enabled: true,
      ...(stage !== undefined && { stage }),
      priority: 1,
      settings: (startOf(schema, schema) ?? {}) as Record<string, unknown>,
      on_error: "fail",
    },
    { prefix: `required_plugins[${index}]` },
  );
  const save = async () => {
    const isSaved = await form.submit(async (value) => {
      const required_plugins: unknown[] = [...answer.data.required_plugins];
      required_plugins[index] = value;
      await call("PATCH", `/gateways/${answer.data.id}`, { body: { required_plugins }, etag: answer.etag });
    });
    if (!isSaved) return;
    say(`Saved ${plugin.name}.`);
    await go(list);
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void save()}
      submit={existing === undefined ? `Add ${plugin.name}` : "Save"}
      cancel={list}
    >
      <div class="card fields inline narrow">
        <CheckField form={form} at="enabled" label="On" fallback />
        <ChoiceField
          form={form}
          at="stage"
          label="Stage"
          choices={plugin.stages.map((each) => ({ value: each, label: each }))}
        />
        <NumberField form={form} at="priority" label="Priority" placeholder="1" hint="Lower runs first." />
        <ChoiceField
          form={form}
          at="on_error"
          label="When it fails"
          choices={[
            { value: "fail", label: "the request fails" },
            { value: "continue", label: "the request goes on" },
          ]}
        />
      </div>
      <Settings form={form} schema={schema} />
    </RecordForm>
  );
}

interface SettingsProps {
  readonly form: ReturnType<typeof useForm<Partial<PluginConfigInput>>>;
  readonly schema: JsonSchema;
}

function Settings({ form, schema }: SettingsProps): JSX.Element {
  const [isRaw, setRaw] = useState(false);
  const isObject = typeof form.value.settings === "object";
  const hasFields = Object.keys(schema.properties ?? {}).length > 0;
  return (
    <Section
      title="Settings"
      actions={
        <div class="switch" role="group" aria-label="How to edit the settings">
          <Button isPressed={!isRaw} onClick={() => setRaw(false)} isDisabled={!isObject}>
            Form
          </Button>
          <Button isPressed={isRaw} onClick={() => setRaw(true)}>
            JSON
          </Button>
        </div>
      }
    >
      {isRaw ? (
        <div class="card">
          <JsonField form={form} at="settings" label="Settings as JSON" rows={18} />
        </div>
      ) : (
        <div class="card fields">
          {!hasFields && (
            <p class="soft">This plugin has no settings of its own to show; write them as JSON.</p>
          )}
          <SchemaFields form={form} at="settings" schema={schema} root={schema} />
          <FieldFaults form={form} at="settings" isShallow />
        </div>
      )}
    </Section>
  );
}
