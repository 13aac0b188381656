// MCP servers of the configuration that do not respond, for health checks and metrics.
import type { SilentServers } from "../mcp/silent-servers.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";

interface ShownSilence {
  readonly gatewayId: string;
  readonly gateway: string;
  readonly server: string;
  readonly reason: string;
}

/** Deleted, changed and disabled servers are left out. */
function shownSilences(
  silences: SilentServers,
  { snapshot }: Pick<CurrentConfiguration, "snapshot">,
): ShownSilence[] {
  const shown: ShownSilence[] = [];
  for (const { gatewayId, serverId, what, since } of silences.silent()) {
    const gateway = snapshot.gateways.get(gatewayId);
    const server = gateway?.parts.mcp_servers.find(({ id }) => id === serverId);
    if (gateway === undefined || server?.enabled !== true) continue;
    const to = what === "connect" ? "" : ` to ${what}`;
    const reason = `no response${to} since ${new Date(since).toISOString()}`;
    shown.push({ gatewayId, gateway: gateway.gateway.name, server: server.name, reason });
  }
  return shown;
}

/** Returns the reason by `GATEWAY_ID/SERVER`. */
export function describeSilences(
  silences: SilentServers,
  current: Pick<CurrentConfiguration, "snapshot">,
): Map<string, string> {
  return new Map(
    shownSilences(silences, current).map(({ gatewayId, server, reason }) => [
      `${gatewayId}/${server}`,
      reason,
    ]),
  );
}

/** Sets the metric on each collection, so that servers that respond again leave no series behind. */
export function collectSilences(
  metrics: Metrics,
  silences: SilentServers,
  current: CurrentConfiguration,
): void {
  metrics.onCollect(() => {
    metrics.clear("gatehouse_mcp_server_silent");
    for (const { gateway, server } of shownSilences(silences, current))
      metrics.set("gatehouse_mcp_server_silent", { gateway, server }, 1);
  });
}
