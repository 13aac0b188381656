// Opens the cloud credentials of targets. Failed fetches are logged, and all are counted as soon as there are metrics.
import type { Clock } from "../base/clock.ts";
import { toError } from "../base/to-error.ts";
import type { Settings } from "../config/settings.ts";
import type { Log } from "../telemetry/log/log.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";
import { CloudCredentials } from "../upstream/credentials/cloud-credentials.ts";
import type { UpstreamPool } from "../upstream/upstream-pool.ts";

interface OpenedCredentials {
  readonly credentials: CloudCredentials;
  readonly countFetches: (metrics: Metrics) => void;
}

export function openCredentials(
  { ALLOW_ENVIRONMENT_CREDENTIALS }: Settings,
  pool: UpstreamPool,
  log: Log,
  clock: Clock,
): OpenedCredentials {
  let counted: Metrics | null = null;
  const credentials = new CloudCredentials({
    pool,
    clock,
    environment: ALLOW_ENVIRONMENT_CREDENTIALS ? process.env : null,
    onFetch: (type, error) => {
      const result = error === null ? "fetched" : "failed";
      counted?.number("gatehouse_credential_fetches_total", { type, result }).add();
      if (error === null) return;
      log.warn({ credential_type: type, reason: toError(error).message }, "credential fetch failed");
    },
  });
  return { credentials, countFetches: (metrics) => void (counted = metrics) };
}
