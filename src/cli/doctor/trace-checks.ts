// Checks whether the collector of traces accepts connections.
import type { Settings } from "../../config/settings.ts";
import { ok, type CheckResult } from "./check-result.ts";
import { checkConnection } from "./connection-check.ts";

export async function checkTraces({ OTEL_EXPORTER_OTLP_ENDPOINT }: Settings): Promise<CheckResult[]> {
  const setting = "OTEL_EXPORTER_OTLP_ENDPOINT";
  if (OTEL_EXPORTER_OTLP_ENDPOINT === null) return [ok("traces", `not exported: ${setting} is not set`)];
  const url = new URL(OTEL_EXPORTER_OTLP_ENDPOINT);
  return [await checkConnection("traces", url, { setting, server: "the collector" })];
}
