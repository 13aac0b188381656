// Renders the Helm chart with `helm template`.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isInstalled } from "../support/required-program.ts";

export const CHART = join(import.meta.dir, "../../deploy/helm/gatehouse");
/** A helm that was built without its release flags assumes 1.20, which the chart does not support. */
const KUBERNETES_VERSION = "1.30.0";

const program = Bun.which("helm");

/** Optional in CI, because Debian does not package helm and building it needs the Go module proxy. See decision 0081. */
export const hasHelm = isInstalled(program, {
  name: "helm",
  tests: "tests that render the Helm chart",
  install: 'scripts/install-helm.sh "$HOME/.local/bin"',
  isOptionalInCi: true,
});

interface Values {
  [name: string]: unknown;
}

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests read manifests of any shape
export type Manifest = any;

export const readChartFile = (name: string) => readFileSync(join(CHART, name), "utf8");
export const chart = Bun.YAML.parse(readChartFile("Chart.yaml")) as Record<string, string>;
export const schema = JSON.parse(readChartFile("values.schema.json")) as Record<string, unknown>;

export function defaultValues(): Values {
  return Bun.YAML.parse(readChartFile("values.yaml")) as Values;
}

/** Returns the manifests by kind and name; throws helm's error if it rejects the values. */
export function renderChart(values: Values, directory = CHART): Map<string, Manifest> {
  const options = ["--kube-version", KUBERNETES_VERSION, "--namespace", "default", "--values", "-"];
  const text = runHelm(["template", "test", directory, ...options], values);
  const manifests = text
    .split(/^---$/m)
    .map((part): Manifest => Bun.YAML.parse(part))
    .filter((manifest) => manifest !== null);
  return new Map(manifests.map((manifest) => [`${manifest.kind}/${manifest.metadata.name}`, manifest]));
}

/** Returns the output of `helm lint`; throws if it finds an error or a warning. */
export function lintChart(values: Values): string {
  const options = ["--strict", "--kube-version", KUBERNETES_VERSION, "--values", "-"];
  return runHelm(["lint", CHART, ...options], values);
}

function runHelm(args: readonly string[], values: Values): string {
  const { exitCode, stdout, stderr } = Bun.spawnSync([program ?? "helm", ...args], {
    stdin: Buffer.from(JSON.stringify(values)),
  });
  if (exitCode !== 0) throw new Error(`${stdout.toString()}${stderr.toString()}`);
  return stdout.toString();
}
