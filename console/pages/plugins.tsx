// The plugins of a gateway in the order they run, and those that could be added.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import { listPlugins } from "../api/resources.ts";
import type { Gateway, PluginConfig } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { ask, say } from "../state/dialogs.ts";
import { revision } from "../state/connection.ts";
import { useLoad } from "../state/load.ts";
import { Link, type PageParameters } from "../state/router.tsx";

const STAGES = ["pre_request", "post_request", "pre_response", "post_response"];

interface Placed {
  readonly index: number;
  readonly config: PluginConfig;
}

export function PluginsPage({ parameters }: PageParameters): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  const base = `/gateways/${gateway}/plugins`;
  const loaded = useLoad(
    async (signal) => {
      const [answer, plugins] = await Promise.all([
        call<Gateway>("GET", `/gateways/${gateway}`, { signal }),
        listPlugins(signal),
      ]);
      return { answer, plugins };
    },
    [revision.value],
  );
  const remove = async (
    { index, config }: Placed,
    { data, etag }: { data: Gateway; etag: string | null },
  ) => {
    const required_plugins = data.required_plugins.filter((_, each) => each !== index);
    const isDone = await ask({
      title: `Remove ${config.name} from this gateway?`,
      text: "It no longer runs from now on. What it counted is forgotten.",
      confirm: "Remove",
      isDangerous: true,
      action: () => call("PATCH", `/gateways/${gateway}`, { body: { required_plugins }, etag }),
    });
    if (!isDone) return;
    say(`Removed ${config.name}.`);
    loaded.reload();
  };
  return (
    <Page
      title="Plugins"
      about="Plugins limit, check and change requests and answers. They run by stage, then by priority, the lower first."
    >
      <WhenLoaded loaded={loaded} what="plugins">
        {({ answer, plugins }) => (
          <>
            {answer.data.required_plugins.length === 0 ? (
              <Empty title="No plugin on this gateway">
                Add one below; requests pass unchanged until then.
              </Empty>
            ) : (
              <Table
                label="Plugins of this gateway"
                rows={inOrder(answer.data.required_plugins)}
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
                      config.enabled ? <Badge tone="good">on</Badge> : <Badge>off</Badge>,
                  },
                  {
                    title: "When it fails",
                    cell: ({ config }) =>
                      config.on_error === "fail" ? "the request fails" : "the request goes on",
                  },
                  {
                    title: "Actions",
                    kind: "actions",
                    cell: (placed) => (
                      <Button
                        kind="quiet"
                        icon="remove"
                        label={`Remove ${placed.config.name}`}
                        onClick={() => void remove(placed, answer)}
                      >
                        Remove
                      </Button>
                    ),
                  },
                ]}
              />
            )}
            <Section
              title="Available"
              about="Built in, or found in the plugins folder of the gateway. New files appear here without a restart."
            >
              <ul class="cards">
                {plugins.map(({ name, description, builtin }) => (
                  <li class="card" key={name}>
                    <h3>
                      {name} {!builtin && <Badge tone="accent">custom</Badge>}
                    </h3>
                    <p class="soft">{description}</p>
                    <div class="actions">
                      <LinkButton to={`${base}/new?name=${encodeURIComponent(name)}`} icon="add">
                        Add {name}
                      </LinkButton>
                    </div>
                  </li>
                ))}
              </ul>
            </Section>
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function inOrder(configs: readonly PluginConfig[]): Placed[] {
  const rank = ({ config }: Placed) => STAGES.indexOf(config.stage);
  return configs
    .map((config, index) => ({ index, config }))
    .sort((a, b) => rank(a) - rank(b) || a.config.priority - b.config.priority || a.index - b.index);
}
