// List of a gateway's MCP servers.
import type { JSX } from "preact";
import { collectionPath } from "../api/resources.ts";
import type { McpServer } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { RecordListPage, UPDATED } from "../components/record-list-page.tsx";
import type { RoutedPageProps } from "../state/router.tsx";

const PINS = { off: "Not compared", warn: "Report changes", hold: "Withhold changed tools" } as const;

export function McpServersPage({ parameters }: RoutedPageProps): JSX.Element {
  const gateway = parameters["gateway"] ?? "";
  return (
    <RecordListPage<McpServer, McpServer>
      title="MCP servers"
      description="Servers whose tools agents may use. A service of type MCP offers the tools of several servers at one address."
      singular="MCP server"
      base={`/gateways/${gateway}/mcp-servers`}
      path={collectionPath(gateway, "mcp-servers")}
      field="mcp_servers"
      complete={(servers) => servers}
      columns={[
        { title: "URL", cell: ({ url }) => url },
        { title: "Prefix", cell: ({ prefix, name }) => prefix ?? name },
        { title: "Changed tools", cell: ({ pin }) => PINS[pin] },
        {
          title: "State",
          cell: ({ enabled }) => (enabled ? <Badge tone="good">Enabled</Badge> : <Badge>Disabled</Badge>),
        },
        UPDATED,
      ]}
      removal={{
        text: "A server that services refer to is not deleted. You can restore them by rolling back to an earlier revision.",
      }}
      empty="Add the servers whose tools your agents need, then a service of type MCP and a rule that leads to it."
    />
  );
}
