// The metric of tools whose definition is not the approved one.
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import type { CurrentConfiguration } from "./current-configuration.ts";
import type { StoredToolPins } from "./stored-tool-pins.ts";

/** Sets the metric on each collection, so that deleted servers leave no series behind. */
export function collectToolPins(metrics: Metrics, pins: StoredToolPins, current: CurrentConfiguration): void {
  metrics.onCollect(() => {
    metrics.clear("gatehouse_mcp_changed_tools");
    for (const { gateway, parts } of current.snapshot.gateways.values())
      for (const { id, name, pin } of parts.mcp_servers) {
        if (pin === "off") continue;
        const state = pin === "hold" ? "withheld" : "changed";
        const labels = { gateway: gateway.name, server: name, state };
        metrics.set("gatehouse_mcp_changed_tools", labels, pins.changedCount(id));
      }
  });
}
