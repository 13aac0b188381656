// List of a gateway's plugins in run order, and of the plugins that can be added.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, toError, type ApiResponse } from "../api/client.ts";
import { listPlugins } from "../api/resources.ts";
import type { Gateway, Plugin, PluginConfig } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { CacheCard } from "../components/cache-card.tsx";
import { ON_ERROR_LABELS } from "../components/labels.ts";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { useReorder } from "../components/reorder.tsx";
import { ChosenTable } from "../components/chosen-table.tsx";
import type { Column } from "../components/table.tsx";
import { Toggle } from "../components/toggle.tsx";
import { mayCall } from "../state/administrator.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { activeRevision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { moveAmong } from "../state/order.ts";
import { Link, type RoutedPageProps } from "../state/router.tsx";

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"];

interface PluginEntry {
  readonly index: number;
  readonly config: PluginConfig;
}

export function PluginsPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/plugins`;
  const path = `/gateways/${gateway}`;
  const [saved, setSaved] = useState<ApiResponse<Gateway> | null>(null);
  const loaded = useLoad(
    async (signal) => {
      const [response, plugins] = await Promise.all([
        call<Gateway>("GET", path, { signal }),
        listPlugins(signal),
      ]);
      return { response, plugins };
    },
    [activeRevision.value],
  );
  const save = async (required_plugins: readonly PluginConfig[], etag: string | null) => {
    try {
      setSaved(await call<Gateway>("PATCH", path, { body: { required_plugins }, etag }));
    } catch (error) {
      loaded.reload();
      if (!(error instanceof ApiError) || error.status !== 412) throw error;
      throw new Error("The gateway was changed meanwhile. The list shows its current state.");
    }
  };
  return (
    <Page
      title="Plugins"
      description="Plugins limit, check, and change requests and responses. They run in order of stage, then of priority (lowest first)."
    >
      <WhenLoaded loaded={loaded} what="plugins">
        {({ response, plugins }) => {
          const { data, etag } = newerOf(response, saved);
          return (
            <>
              {data.required_plugins.length === 0 ? (
                <Empty title="No plugins yet">Requests pass unchanged. Add a plugin below.</Empty>
              ) : (
                <PluginEntryTable
                  base={base}
                  configs={data.required_plugins}
                  onSave={(configs) => save(configs, etag)}
                />
              )}
              {data.required_plugins.some(({ name }) => name === "response_cache") && (
                <CacheCard gateway={gateway} />
              )}
              <AvailablePlugins base={base} plugins={plugins} />
            </>
          );
        }}
      </WhenLoaded>
    </Page>
  );
}

/** The page shows what it has saved until it has loaded something newer. */
function newerOf(loaded: ApiResponse<Gateway>, saved: ApiResponse<Gateway> | null): ApiResponse<Gateway> {
  return saved !== null && saved.data.updated_at > loaded.data.updated_at ? saved : loaded;
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
  /** Rejects if nothing was saved. */
  readonly onSave: (configs: readonly PluginConfig[]) => Promise<void>;
}

function PluginEntryTable({ base, configs, onSave }: PluginEntryTableProps): JSX.Element {
  const entries = inRunOrder(configs);
  const operation = `PATCH ${base.replace(/\/plugins$/, "")}`;
  const reorder = useReorder({
    mayMove: (from, to) =>
      entries[from] !== undefined && entries[from].config.stage === entries[to]?.config.stage,
    onMove: (from, to) => move(entries, from, to, onSave),
    nameOf: (position) => entries[position]?.config.name ?? "",
  });
  const positionOf = (entry: PluginEntry) => entries.findIndex(({ index }) => index === entry.index);
  const order: Column<PluginEntry> = {
    title: "Order",
    kind: "order",
    cell: (entry) => reorder.controls(positionOf(entry)),
  };
  const toggle = ({ index, config }: PluginEntry) => {
    const changed = { ...config, enabled: !config.enabled };
    return onSave(configs.map((each, position) => (position === index ? changed : each)));
  };
  return (
    <ChosenTable
      label="Plugins of this gateway"
      rows={entries}
      keyOf={({ index }) => String(index)}
      isDimmed={({ config }) => !config.enabled}
      rowProps={(entry) => reorder.itemProps(positionOf(entry))}
      columns={[
        ...(entries.length > 1 && mayCall(operation) ? [order] : []),
        {
          title: "Plugin",
          kind: "main",
          cell: ({ index, config }) => (
            <>
              <Link to={`${base}/${index}`}>{config.name}</Link>{" "}
              {config.mode === "shadow" && <Badge tone="accent">shadow</Badge>}
              {config.isolation !== "inline" && <Badge tone="neutral">{config.isolation}</Badge>}
            </>
          ),
        },
        { title: "Stage", cell: ({ config }) => <code>{config.stage}</code> },
        { title: "Priority", kind: "number", cell: ({ config }) => config.priority },
        {
          title: "State",
          cell: (entry) => (
            <Toggle
              isOn={entry.config.enabled}
              label={`${entry.config.name} is enabled`}
              texts={["Disabled", "Enabled"]}
              operation={operation}
              onToggle={() => toggle(entry)}
            />
          ),
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
              operation={operation}
              label={`Remove ${entry.config.name}`}
              onClick={() => void remove(entry, configs, onSave)}
            >
              Remove
            </Button>
          ),
        },
      ]}
    />
  );
}

/** Moves an entry within its stage; `from` and `to` are positions in `entries`. */
async function move(
  entries: readonly PluginEntry[],
  from: number,
  to: number,
  onSave: PluginEntryTableProps["onSave"],
): Promise<void> {
  const moved = entries[from];
  if (moved === undefined) return;
  const stage = entries.filter(({ config }) => config.stage === moved.config.stage);
  const first = entries.findIndex(({ config }) => config.stage === moved.config.stage);
  const configs = entries.toSorted((a, b) => a.index - b.index).map(({ config }) => config);
  const positions = stage.map(({ index }) => index);
  try {
    await onSave(moveAmong(configs, positions, from - first, to - first));
    showToast(`Moved ${moved.config.name} to position ${to - first + 1} of ${stage.length}.`);
  } catch (error) {
    showToast(toError(error).message, "error");
  }
}

async function remove(
  { index, config }: PluginEntry,
  configs: readonly PluginConfig[],
  onSave: PluginEntryTableProps["onSave"],
): Promise<void> {
  const isDone = await confirmAction({
    title: `Remove ${config.name} from this gateway?`,
    text: "It stops running immediately. Its counters are deleted.",
    confirm: "Remove",
    isDangerous: true,
    action: () => onSave(configs.filter((_, each) => each !== index)),
  });
  if (isDone) showToast(`Removed ${config.name}.`);
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
