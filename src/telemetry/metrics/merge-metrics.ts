// Merges the metrics pages of all worker processes into one: to Prometheus they are one service.
import type { MetricDeclaration } from "./metric-declaration.ts";
import { METRICS } from "./metric-table.ts";
import { SAMPLE, unescapeLabel } from "./metrics-page.ts";

/** The value of the label `gateway`, still escaped. */
const GATEWAY = /[{,]gateway="((?:[^"\\]|\\.)*)"/;

type Families = Map<string, Map<string, number>>;

/** Merges pages written by `Metrics.render`. Each metric is summed, or its minimum or maximum is taken (metric-table.ts). */
export function mergeMetrics(pages: readonly string[]): string {
  return render(merge(pages));
}

/**
 * Merges the last pages of workers that have ended. Keeps only what was counted: the state of a process ends with it. Series of
 * gateways that do not exist anymore are removed, as in a running process.
 */
export function mergeEndedMetrics(
  pages: readonly string[],
  isExistingGateway: (name: string) => boolean,
): string {
  const families = merge(pages);
  for (const [name, samples] of families) {
    if (declarationOf(name)?.type === "gauge") families.delete(name);
    for (const key of samples.keys()) {
      const gateway = GATEWAY.exec(key)?.[1];
      if (gateway !== undefined && !isExistingGateway(unescapeLabel(gateway))) samples.delete(key);
    }
  }
  return render(families);
}

function merge(pages: readonly string[]): Families {
  const families: Families = new Map();
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
  return families;
}

function render(families: Families): string {
  let text = "";
  for (const [name, { help, type }] of Object.entries(METRICS)) {
    text += `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
    for (const [key, value] of families.get(name) ?? []) text += `${key} ${value}\n`;
  }
  return text;
}

function declarationOf(name: string): MetricDeclaration | undefined {
  return (METRICS as Record<string, MetricDeclaration | undefined>)[name];
}

function join(name: string, one: number, other: number): number {
  const how = declarationOf(name)?.merge;
  if (how === "min") return Math.min(one, other);
  return how === "max" ? Math.max(one, other) : one + other;
}
