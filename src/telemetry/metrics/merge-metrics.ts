// Merges the metrics pages of all worker processes into one: to Prometheus they are one service.
import { METRICS, type MetricDeclaration } from "./metric-table.ts";

const SAMPLE = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/;

/** Merges pages written by `Metrics.render`. Each metric is summed, or its minimum or maximum is taken (metric-table.ts). */
export function mergeMetrics(pages: readonly string[]): string {
  const families = new Map<string, Map<string, number>>();
  for (const page of pages) {
    let name = "";
    for (const line of page.split("\n")) {
      if (line.startsWith("# TYPE ")) name = line.split(" ")[2] ?? "";
      const [, sample = "", labels = "", value = ""] = SAMPLE.exec(line) ?? [];
      if (sample === "") continue;
      const samples = families.get(name) ?? new Map<string, number>();
      families.set(name, samples);
      const key = sample + labels;
      const before = samples.get(key);
      samples.set(key, before === undefined ? Number(value) : join(name, before, Number(value)));
    }
  }
  let text = "";
  for (const [name, { help, type }] of Object.entries(METRICS)) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const [key, value] of families.get(name) ?? []) text += `${key} ${value}\n`;
  }
  return text;
}

function join(name: string, one: number, other: number): number {
  const { merge } = (METRICS as Record<string, MetricDeclaration | undefined>)[name] ?? {};
  if (merge === "min") return Math.min(one, other);
  return merge === "max" ? Math.max(one, other) : one + other;
}
