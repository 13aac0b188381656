// List of a gateway's plugins in run order, and of the plugins that can be added.
import type { JSX } from "preact";
import { call, type ApiResponse } from "../api/client.ts";
import { listPlugins } from "../api/resources.ts";
import type { Gateway, Plugin, PluginConfig } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { ON_ERROR_LABELS } from "../components/labels.ts";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"];

interface PluginEntry {
  readonly index: number;
  readonly config: PluginConfig;
}

export function PluginsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/plugins`;
  const loaded = useLoad(
    async (signal) => {
      const [response, plugins] = await Promise.all([
        call<Gateway>("GET", `/gateways/${gateway}`, { signal }),
        listPlugins(signal),
      ]);
      return { response, plugins };
    },
    [activeRevision.value],
  );
  const remove = async ({ index, config }: PluginEntry, { data, etag }: ApiResponse<Gateway>) => {
    const required_plugins = data.required_plugins.filter((_, each) => each !== index);
    const isDone = await confirmAction({
      title: `Remove ${config.name} from this gateway?`,
      text: "It stops running immediately. Its counters are deleted.",
      confirm: "Remove",
      isDangerous: true,
      action: () => call("PATCH", `/gateways/${gateway}`, { body: { required_plugins }, etag }),
    });
    if (!isDone) return;
    showToast(`Removed ${config.name}.`);
    loaded.reload();
  };
  return (
    <Page
      title="Plugins"
      description="Plugins limit, check, and change requests and responses. They run in order of stage, then of priority (lowest first)."
    >
      <WhenLoaded loaded={loaded} what="plugins">
        {({ response, plugins }) => (
          <>
            {response.data.required_plugins.length === 0 ? (
              <Empty title="No plugins yet">Requests pass unchanged. Add a plugin below.</Empty>
            ) : (
              <PluginEntryTable
                base={base}
                configs={response.data.required_plugins}
                onRemove={(entry) => void remove(entry, response)}
              />
            )}
            <AvailablePlugins base={base} plugins={plugins} />
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function inRunOrder(configs: readonly PluginConfig[]): PluginEntry[] {
  const rank = ({ config }: PluginEntry) => STAGES.indexOf(config.stage);
  return configs
    .map((config, index) => ({ index, config }))
    .sort((a, b) => rank(a) - rank(b) || a.config.priority - b.config.priority || a.index - b.index);
}

interface PluginEntryTableProps {
  /** Console path of the list. */
  readonly base: string;
  readonly configs: readonly PluginConfig[];
  readonly onRemove: (entry: PluginEntry) => void;
}

function PluginEntryTable({ base, configs, onRemove }: PluginEntryTableProps): JSX.Element {
  return (
    <Table
      label="Plugins of this gateway"
      rows={inRunOrder(configs)}
      keyOf={({ index }) => String(index)}
      isDimmed={({ config }) => !config.enabled}
      columns={[
        {
          title: "Plugin",
          kind: "main",
          cell: ({ index, config }) => <Link to={`${base}/${index}`}>{config.name}</Link>,
        },
        { title: "Stage", cell: ({ config }) => <code>{config.stage}</code> },
        { title: "Priority", kind: "number", cell: ({ config }) => config.priority },
        {
          title: "State",
          cell: ({ config }) =>
            config.enabled ? <Badge tone="good">Enabled</Badge> : <Badge>Disabled</Badge>,
        },
        {
          title: "If it fails",
          cell: ({ config }) => ON_ERROR_LABELS[config.on_error],
        },
        {
          title: "Actions",
          kind: "actions",
          cell: (entry) => (
            <Button
              kind="quiet"
              icon="remove"
              operation={`PATCH ${base.replace(/\/plugins$/, "")}`}
              label={`Remove ${entry.config.name}`}
              onClick={() => onRemove(entry)}
            >
              Remove
            </Button>
          ),
        },
      ]}
    />
  );
}

interface AvailablePluginsProps {
  readonly base: string;
  readonly plugins: readonly Plugin[];
}

function AvailablePlugins({ base, plugins }: AvailablePluginsProps): JSX.Element {
  return (
    <Section
      title="Available"
      description="Built-in plugins and custom plugins from the plugins directory. New files appear without a restart."
    >
      <ul class="cards">
        {plugins.map(({ name, description, builtin }) => (
          <li class="card" key={name}>
            <h3>
              {name} {!builtin && <Badge tone="accent">Custom</Badge>}
            </h3>
            <p class="muted">{description}</p>
            <div class="actions">
              <LinkButton to={`${base}/new?name=${encodeURIComponent(name)}`} icon="add">
                Add {name}
              </LinkButton>
            </div>
          </li>
        ))}
      </ul>
    </Section>
  );
}
