// /metrics in Prometheus' text format: the state of this process and of what it depends on.
import type { Dependency, Health } from "./health.ts";

interface Metric {
  readonly name: string;
  readonly type: "gauge" | "counter";
  readonly help: string;
  readonly value: number;
}

export function renderMetrics(health: Health): string {
  const { rss } = process.memoryUsage();
  const metrics: Metric[] = [
    gauge("gatehouse_ready", "Whether /readyz says ready.", Number(health.ready)),
    gauge(
      "gatehouse_config_revision",
      "Revision of the configuration in force; -1 before one is loaded.",
      health.revision ?? -1,
    ),
    gauge("gatehouse_store_up", "Whether the database answers.", up(health.store)),
    gauge(
      "gatehouse_counters_up",
      "Whether the counters can be used; 0 while a configured Redis is away.",
      up(health.counters),
    ),
    {
      name: "gatehouse_counters_lost_total",
      type: "counter",
      help: "How often a configured Redis went away.",
      value: health.countersLost,
    },
    gauge(
      "gatehouse_faulty_gateways",
      "Stored gateways that do not compile here.",
      health.faultyGateways.size,
    ),
    gauge("process_resident_memory_bytes", "Resident memory.", rss),
    gauge("process_uptime_seconds", "Seconds since the start.", Math.round(process.uptime())),
  ];
  return metrics.map(render).join("");
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, type: "gauge", help, value };
}

function up({ state }: Dependency): number {
  return state === "away" ? 0 : 1;
}

function render({ name, type, help, value }: Metric): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${name} ${value}\n`;
}
