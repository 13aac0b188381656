// What the plugins of a gateway would have done in shadow mode, merged over all worker processes.
import { shadowInstanceId, type ShadowKind } from "../snapshot/plugin-instances.ts";
import {
  EMPTY_SHADOW_REPORT,
  mergeShadowReports,
  type ShadowReportData,
} from "../telemetry/requests/shadow-report.ts";
import type { Siblings } from "../telemetry/siblings.ts";
import type { PluginHosts } from "./plugin-hosts.ts";

export interface ShadowSource {
  /** Of an entry of `required_plugins`, or of the next version of its plugin. */
  read(gatewayId: string, entryId: string, kind: ShadowKind): Promise<ShadowReportData>;
}

export function shareShadow(hosts: Pick<PluginHosts, "readShadow">, siblings: Siblings): ShadowSource {
  const own = (instanceId: string) => hosts.readShadow(instanceId) ?? EMPTY_SHADOW_REPORT;
  siblings.onQuery("shadow report", (query) => own(query as string));
  return {
    read: async (gatewayId, entryId, kind) => {
      const instanceId = shadowInstanceId(gatewayId, entryId, kind);
      const others = (await siblings.query("shadow report", instanceId)) as ShadowReportData[];
      return mergeShadowReports([own(instanceId), ...others]);
    },
  };
}
