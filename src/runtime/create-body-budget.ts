// Creates the memory budget of request bodies from the settings, and reports it in the metrics.
import type { Clock } from "../base/clock.ts";
import type { Settings } from "../config/settings.ts";
import { BodyBudget } from "../http/body-budget.ts";
import type { Metrics } from "../telemetry/metrics/metrics.ts";

export function createBodyBudget(settings: Settings, metrics: Metrics, clock: Clock): BodyBudget {
  // The limit of the container if there is one, else the memory of the machine.
  const limit = settings.MAX_BUFFERED_BYTES ?? Math.floor(process.constrainedMemory() / 4 / settings.WORKERS);
  const budget = new BodyBudget(limit, clock);
  const used = metrics.number("gatehouse_buffered_body_bytes", {});
  metrics.onCollect(() => (used.value = budget.used));
  return budget;
}
