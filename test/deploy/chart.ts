// The Helm chart rendered without Helm: values merged and judged by the schema, templates rendered, manifests parsed.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { parseTemplate, renderNodes, type Definitions } from "./go-template.ts";

export const CHART = join(import.meta.dir, "../../deploy/helm/gatehouse");
const TEMPLATES = join(CHART, "templates");

export interface Values {
  [name: string]: unknown;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read whatever was rendered
export type Manifest = any;

export const readChartFile = (name: string) => readFileSync(join(CHART, name), "utf8");
export const chart = Bun.YAML.parse(readChartFile("Chart.yaml")) as Record<string, string>;
export const schema = JSON.parse(readChartFile("values.schema.json")) as Record<string, unknown>;
const judge = z.fromJSONSchema(schema);

export function defaultValues(): Values {
  return Bun.YAML.parse(readChartFile("values.yaml")) as Values;
}

/** The manifests by kind and name, and the notes; throws where Helm would refuse. */
export function renderChart(
  given: Values,
  releaseName = "test",
): { manifests: Map<string, Manifest>; notes: string } {
  const values = merge(defaultValues(), given);
  judge.parse(values);
  const definitions: Definitions = new Map();
  const root = {
    Values: values,
    Chart: { Name: chart["name"], Version: chart["version"], AppVersion: chart["appVersion"] },
    Release: { Name: releaseName, Namespace: "default", Service: "Helm" },
  };
  const include = (name: string, dot: unknown): string => {
    const nodes = definitions.get(name);
    if (nodes === undefined) throw new Error(`there is no template ${name}`);
    return renderNodes(nodes, { dot, root: dot, variables: {}, include });
  };
  const files = readdirSync(TEMPLATES).sort();
  const parsed = files.map(
    (file) => [file, parseTemplate(readChartFile(`templates/${file}`), definitions)] as const,
  );
  const manifests = new Map<string, Manifest>();
  let notes = "";
  for (const [file, nodes] of parsed) {
    const text = renderNodes(nodes, { dot: root, root, variables: {}, include });
    if (file === "NOTES.txt") notes = text;
    else
      for (const manifest of documents(text))
        manifests.set(`${manifest.kind}/${manifest.metadata.name}`, manifest);
  }
  return { manifests, notes };
}

function documents(text: string): Manifest[] {
  return text
    .split(/^---$/m)
    .filter((part) => part.trim() !== "")
    .map((part) => Bun.YAML.parse(part));
}

/** As Helm merges: maps by key, everything else replaced. */
function merge(base: Values, over: Values): Values {
  const merged = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const below = merged[name];
    merged[name] = isMap(below) && isMap(value) ? merge(below, value) : value;
  }
  return merged;
}

function isMap(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
