// The Helm chart: the manifests it renders, the values it rejects, and that its schema has exactly the existing settings.
import { beforeAll, describe, expect, test } from "bun:test";
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { readSettings, SETTINGS } from "../../src/config/settings.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import {
  chart,
  CHART,
  defaultValues,
  hasHelm,
  lintChart,
  readChartFile,
  renderChart,
  schema,
  type Manifest,
} from "./chart.ts";

const SECRET = {
  SERVER_SECRET_KEY: "a-secret-that-is-long-enough-for-tests-0123456789",
  DATABASE_URL: "postgres://gatehouse:a%3Ab@postgres:5432/gatehouse",
  REDIS_URL: "redis://valkey:6379",
};
/** Set by the image; the manifests depend on these values. */
const FIXED = ["ADMIN_PORT", "PROXY_PORT", "DATA_DIR", "PLUGINS_DIR"];

const render = (values: Record<string, unknown> = {}) => renderChart({ secret: SECRET, ...values });
const podOf = (manifests: Map<string, Manifest>) =>
  manifests.get("Deployment/test-gatehouse").spec.template.spec;

describe("the chart's files", () => {
  const known = schema as Manifest;
  const inConfigMap = Object.keys(known.properties.settings.properties as object);
  const inSecret = Object.keys(known.properties.secret.properties as object).filter(
    (name) => name !== "existingSecret",
  );

  test("the schema has every setting once: in the ConfigMap, in the Secret, or fixed by the image", () => {
    expect([...inConfigMap, ...inSecret, ...FIXED].sort()).toEqual(Object.keys(SETTINGS).sort());
  });

  test("the chart has the version of the package", () => {
    expect(chart).toMatchObject({ version: packageJson.version, appVersion: packageJson.version });
  });

  test("every value is used by a template, and templates use only existing values", () => {
    const source = readdirSync(`${CHART}/templates`)
      .map((file) => readChartFile(`templates/${file}`))
      .join("\n");
    const used = new Set([...source.matchAll(/\.Values\.([\w.]+)/g)].map(([, path = ""]) => path));
    const declared = new Set(valuePaths(defaultValues()));
    expect([...used].filter((path) => !declared.has(path))).toEqual([]);
    const isUsed = (path: string) =>
      [...used].some((each) => each === path || path.startsWith(`${each}.`) || each.startsWith(`${path}.`));
    expect([...declared].filter((path) => !isUsed(path))).toEqual([]);
  });
});

/** Returns the paths of all values, those of objects included. */
function valuePaths(values: object): string[] {
  return Object.entries(values).flatMap(([name, value]: [string, unknown]) =>
    typeof value === "object" && value !== null
      ? [name, ...valuePaths(value).map((path) => `${name}.${path}`)]
      : [name],
  );
}

describe.skipIf(!hasHelm)("the chart's settings", () => {
  test("helm lint finds no problem", () => {
    expect(lintChart({ secret: SECRET })).toContain("0 chart(s) failed");
  });

  test("the gateway accepts the settings that the chart sets", () => {
    const manifests = render({
      settings: { MAX_BODY_BYTES: 10485760, REQUIRE_API_KEY: true, BASE_DOMAIN: "ai.test" },
    });
    const { data } = manifests.get("ConfigMap/test-gatehouse");
    const { stringData } = manifests.get("Secret/test-gatehouse");
    for (const value of Object.values({ ...data, ...stringData })) expect(value).toBeString();
    const settings = readSettings({ ...data, ...stringData });
    expect(settings).toMatchObject({
      MAX_BODY_BYTES: 10_485_760,
      REQUIRE_API_KEY: true,
      WORKERS: 1,
      ...SECRET,
    });
  });

  test("an unknown setting or an invalid value is rejected", () => {
    expect(() => render({ settings: { LOG_LEVLE: "info" } })).toThrow("LOG_LEVLE");
    expect(() => render({ settings: { WORKERS: "many" } })).toThrow("WORKERS");
    expect(() => render({ settings: { HOST: "127.0.0.1" } })).toThrow("HOST");
    expect(() => render({ replica: 3 })).toThrow("replica");
  });

  test("a missing secret is rejected with a fix", () => {
    expect(() => renderChart({})).toThrow("openssl rand -hex 32");
    expect(() => renderChart({ secret: { ...SECRET, REDIS_URL: "" } })).toThrow(
      "secret.REDIS_URL is missing",
    );
  });

  test("a secret that could be guessed is rejected, unless it is allowed", () => {
    const secret = { ...SECRET, SERVER_SECRET_KEY: "x".repeat(31) };
    expect(() => renderChart({ secret })).toThrow("secret.SERVER_SECRET_KEY is shorter than 32 bytes");
    const manifests = renderChart({ secret, settings: { ALLOW_WEAK_SECRET: true } });
    expect(manifests.get("ConfigMap/test-gatehouse").data).toMatchObject({ ALLOW_WEAK_SECRET: "true" });
  });

  test("an existing Secret is used instead", () => {
    const manifests = render({ secret: { existingSecret: "mine" } });
    expect([...manifests.keys()].filter((name) => name.startsWith("Secret/"))).toEqual([]);
    expect(podOf(manifests).containers[0].envFrom).toContainEqual({ secretRef: { name: "mine" } });
  });
});

describe.skipIf(!hasHelm)("the chart's pods", () => {
  let pod: Manifest;
  let container: Manifest;
  beforeAll(() => {
    pod = podOf(render());
    [container] = pod.containers;
  });

  test("run without root privileges on a read-only root file system", () => {
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: "RuntimeDefault" },
    });
    expect(pod.securityContext.runAsUser).toBeGreaterThan(0);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    const mounted = container.volumeMounts.map(({ mountPath }: Manifest) => mountPath);
    expect(mounted).toEqual(["/tmp", "/data"]);
  });

  test("have health probes on the data plane's port", () => {
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "proxy" });
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "proxy" });
    expect(container.startupProbe).toMatchObject({ httpGet: { path: "/healthz", port: "proxy" } });
    expect(container.ports).toContainEqual({ name: "proxy", containerPort: readSettings({}).PROXY_PORT });
    expect(container.ports).toContainEqual({ name: "admin", containerPort: readSettings({}).ADMIN_PORT });
  });

  test("are removed from the service before they stop accepting, and have time to drain", () => {
    const { periodSeconds, timeoutSeconds } = container.readinessProbe as Record<string, number>;
    const noticedMs = (periodSeconds! + timeoutSeconds!) * 1000;
    expect((defaultValues() as Manifest).settings.DRAIN_DELAY_MS).toBeGreaterThan(noticedMs);
    for (const [delay, seconds] of [
      [5000, 30],
      [1999, 0],
      ["600000", "3600"],
    ]) {
      const settings = { DRAIN_DELAY_MS: delay, DRAIN_SECONDS: seconds };
      const { terminationGracePeriodSeconds: grace } = podOf(render({ settings }));
      expect(grace).toBeGreaterThanOrEqual(Number(delay) / 1000 + Number(seconds) + 10);
    }
  });

  test("are replaced when a setting or the secret changes", () => {
    const annotationsOf = (values: Record<string, unknown>): Manifest =>
      render(values).get("Deployment/test-gatehouse").spec.template.metadata.annotations;
    const before = annotationsOf({});
    expect(annotationsOf({ settings: { LOG_LEVEL: "warn" } })).not.toEqual(before);
    expect(annotationsOf({ secret: { ...SECRET, REDIS_URL: "redis://other:6379" } })).not.toEqual(before);
    expect(annotationsOf({ replicas: 3 })).toEqual(before);
  });

  test("run the image of this version", () => {
    expect(container.image).toBe(`gatehouse:${packageJson.version}`);
  });

  test("mount custom plugins from a ConfigMap", () => {
    const { containers, volumes } = podOf(render({ pluginsConfigMap: "mine" }));
    expect(volumes).toContainEqual({ name: "plugins", configMap: { name: "mine" } });
    expect(containers[0].volumeMounts).toContainEqual({
      name: "plugins",
      mountPath: "/plugins",
      readOnly: true,
    });
  });
});

describe.skipIf(!hasHelm)("the chart's other objects", () => {
  let everything: Map<string, Manifest>;
  beforeAll(() => {
    everything = render(EVERYTHING);
  });
  const EVERYTHING = {
    autoscaling: { enabled: true },
    networkPolicy: { enabled: true, adminFrom: [{ podSelector: {} }] },
    serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    service: { type: "LoadBalancer", annotations: { a: "b" } },
    nodeSelector: { disk: "fast" },
    tolerations: [{ operator: "Exists" }],
    imagePullSecrets: [{ name: "registry" }],
    podAnnotations: { c: "d" },
    affinity: { nodeAffinity: {} },
  };

  test("select the pods and each other", () => {
    const labels = everything.get("Deployment/test-gatehouse").spec.template.metadata.labels;
    const selectors = [
      everything.get("Deployment/test-gatehouse").spec.selector.matchLabels,
      everything.get("Service/test-gatehouse").spec.selector,
      everything.get("Service/test-gatehouse-admin").spec.selector,
      everything.get("PodDisruptionBudget/test-gatehouse").spec.selector.matchLabels,
      everything.get("NetworkPolicy/test-gatehouse").spec.podSelector.matchLabels,
    ];
    for (const selector of selectors) expect(labels).toMatchObject(selector);
    const monitor = everything.get("ServiceMonitor/test-gatehouse");
    const admin = everything.get("Service/test-gatehouse-admin");
    expect(admin.metadata.labels).toMatchObject(monitor.spec.selector.matchLabels);
    expect(everything.get("Service/test-gatehouse").metadata.labels).not.toMatchObject(
      monitor.spec.selector.matchLabels,
    );
    expect(monitor.metadata.labels.release).toBe("prometheus");
    expect(monitor.spec.endpoints).toEqual([{ port: "admin", path: "/metrics", interval: "15s" }]);
  });

  test("the Admin API is reachable only inside the cluster, for every type of the data plane's service", () => {
    expect(everything.get("Service/test-gatehouse").spec.type).toBe("LoadBalancer");
    expect(everything.get("Service/test-gatehouse-admin").spec.type).toBe("ClusterIP");
    const closed = render({ networkPolicy: { enabled: true } }).get("NetworkPolicy/test-gatehouse");
    expect(closed.spec.ingress).toEqual([{ ports: [{ port: "proxy" }] }]);
    expect(everything.get("NetworkPolicy/test-gatehouse").spec.ingress).toHaveLength(2);
  });

  test("with an autoscaler, the Deployment sets no number of replicas", () => {
    expect(everything.get("Deployment/test-gatehouse").spec.replicas).toBeUndefined();
    expect(everything.get("HorizontalPodAutoscaler/test-gatehouse").spec.maxReplicas).toBe(10);
    expect(render().get("Deployment/test-gatehouse").spec.replicas).toBe(2);
  });

  test("optional objects are off by default", () => {
    const kinds = [...render().keys()].map((name) => name.split("/")[0]).sort();
    expect(kinds).toEqual(["ConfigMap", "Deployment", "PodDisruptionBudget", "Secret", "Service", "Service"]);
  });

  test("the notes name the services", () => {
    // helm template does not print the notes, so render a copy of the chart with the notes as a manifest.
    const copy = temporaryDirectory();
    try {
      cpSync(CHART, copy, { recursive: true });
      const notes = readChartFile("templates/NOTES.txt").replaceAll(/^/gm, "  ");
      rmSync(join(copy, "templates/NOTES.txt"));
      const manifest = `kind: Notes\nmetadata: {name: notes}\ntext: |\n${notes}`;
      writeFileSync(join(copy, "templates/notes.yaml"), manifest);
      const { text } = renderChart({ secret: SECRET }, copy).get("Notes/notes");
      expect(text).toContain("http://test-gatehouse.default:80");
      expect(text).toContain("service/test-gatehouse-admin 8080:8080");
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });
});
