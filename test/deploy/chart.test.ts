// The Helm chart: what it renders to, that it refuses what is wrong, and that it knows exactly the settings there are.
import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import packageJson from "../../package.json" with { type: "json" };
import { readSettings, SETTINGS } from "../../src/config/settings.ts";
import { chart, CHART, defaultValues, readChartFile, renderChart, schema, type Manifest } from "./chart.ts";

const SECRET = {
  SERVER_SECRET_KEY: "a-secret-that-is-long-enough-for-tests-0123456789",
  DATABASE_URL: "postgres://gatehouse:a%3Ab@postgres:5432/gatehouse",
  REDIS_URL: "redis://valkey:6379",
};
/** Fixed by the image, which the manifests rely on. */
const FIXED = ["ADMIN_PORT", "PROXY_PORT", "DATA_DIR", "PLUGINS_DIR"];

const render = (given: Record<string, unknown> = {}) => renderChart({ secret: SECRET, ...given }).manifests;
const podOf = (manifests: Map<string, Manifest>) =>
  manifests.get("Deployment/test-gatehouse").spec.template.spec;

describe("the chart's settings", () => {
  const known = schema as Manifest;
  const inConfigMap = Object.keys(known.properties.settings.properties as object);
  const inSecret = Object.keys(known.properties.secret.properties as object).filter(
    (name) => name !== "existingSecret",
  );

  test("the schema names every setting once: to be set openly, in the secret, or fixed", () => {
    expect([...inConfigMap, ...inSecret, ...FIXED].sort()).toEqual(Object.keys(SETTINGS).sort());
  });

  test("what it sets, the gateway accepts", () => {
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

  test("a setting that there is not, or a bad value, is refused", () => {
    expect(() => render({ settings: { LOG_LEVLE: "info" } })).toThrow("LOG_LEVLE");
    expect(() => render({ settings: { WORKERS: "many" } })).toThrow("WORKERS");
    expect(() => render({ settings: { HOST: "127.0.0.1" } })).toThrow("HOST");
    expect(() => render({ replica: 3 })).toThrow("replica");
  });

  test("a missing secret is refused with the mend", () => {
    expect(() => renderChart({})).toThrow("openssl rand -hex 32");
    expect(() => renderChart({ secret: { ...SECRET, REDIS_URL: "" } })).toThrow(
      "secret.REDIS_URL is missing",
    );
  });

  test("a Secret of one's own is used instead", () => {
    const manifests = render({ secret: { existingSecret: "mine" } });
    expect([...manifests.keys()].filter((name) => name.startsWith("Secret/"))).toEqual([]);
    expect(podOf(manifests).containers[0].envFrom).toContainEqual({ secretRef: { name: "mine" } });
  });
});

describe("the chart's nodes", () => {
  const pod = podOf(render());
  const [container] = pod.containers;

  test("run as nobody in particular, on a root that cannot be written to", () => {
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

  test("are asked for their health on the data plane's port", () => {
    expect(container.readinessProbe.httpGet).toEqual({ path: "/readyz", port: "proxy" });
    expect(container.livenessProbe.httpGet).toEqual({ path: "/healthz", port: "proxy" });
    expect(container.ports).toContainEqual({ name: "proxy", containerPort: readSettings({}).PROXY_PORT });
    expect(container.ports).toContainEqual({ name: "admin", containerPort: readSettings({}).ADMIN_PORT });
  });

  test("are noticed as going before they stop accepting, and have the time to drain", () => {
    const { periodSeconds, timeoutSeconds } = container.readinessProbe as Record<string, number>;
    const noticed = (periodSeconds! + timeoutSeconds!) * 1000;
    expect((defaultValues() as Manifest).settings.DRAIN_DELAY_MS).toBeGreaterThan(noticed);
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

  test("are other pods when a setting or the secret changes", () => {
    const annotationsOf = (given: Record<string, unknown>): Manifest =>
      render(given).get("Deployment/test-gatehouse").spec.template.metadata.annotations;
    const before = annotationsOf({});
    expect(annotationsOf({ settings: { LOG_LEVEL: "warn" } })).not.toEqual(before);
    expect(annotationsOf({ secret: { ...SECRET, REDIS_URL: "redis://other:6379" } })).not.toEqual(before);
    expect(annotationsOf({ replicas: 3 })).toEqual(before);
  });

  test("run an image with an exact tag, of this version", () => {
    expect(container.image).toBe(`gatehouse:${packageJson.version}`);
    expect(chart).toMatchObject({ version: packageJson.version, appVersion: packageJson.version });
  });

  test("take custom plugins from a ConfigMap", () => {
    const { containers, volumes } = podOf(render({ pluginsConfigMap: "mine" }));
    expect(volumes).toContainEqual({ name: "plugins", configMap: { name: "mine" } });
    expect(containers[0].volumeMounts).toContainEqual({
      name: "plugins",
      mountPath: "/plugins",
      readOnly: true,
    });
  });
});

describe("the chart's other objects", () => {
  const everything = render({
    autoscaling: { enabled: true },
    networkPolicy: { enabled: true, adminFrom: [{ podSelector: {} }] },
    serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    service: { type: "LoadBalancer", annotations: { a: "b" } },
    nodeSelector: { disk: "fast" },
    tolerations: [{ operator: "Exists" }],
    imagePullSecrets: [{ name: "registry" }],
    podAnnotations: { c: "d" },
    affinity: { nodeAffinity: {} },
  });

  test("all find the pods, and each other", () => {
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

  test("the Admin API is reached inside the cluster only, whatever the data plane's service is", () => {
    expect(everything.get("Service/test-gatehouse").spec.type).toBe("LoadBalancer");
    expect(everything.get("Service/test-gatehouse-admin").spec.type).toBe("ClusterIP");
    const closed = render({ networkPolicy: { enabled: true } }).get("NetworkPolicy/test-gatehouse");
    expect(closed.spec.ingress).toEqual([{ ports: [{ port: "proxy" }] }]);
    expect(everything.get("NetworkPolicy/test-gatehouse").spec.ingress).toHaveLength(2);
  });

  test("an autoscaler has the number of replicas to itself", () => {
    expect(everything.get("Deployment/test-gatehouse").spec.replicas).toBeUndefined();
    expect(everything.get("HorizontalPodAutoscaler/test-gatehouse").spec.maxReplicas).toBe(10);
    expect(render().get("Deployment/test-gatehouse").spec.replicas).toBe(2);
  });

  test("what is optional is off unless asked for", () => {
    const kinds = [...render().keys()].map((name) => name.split("/")[0]).sort();
    expect(kinds).toEqual(["ConfigMap", "Deployment", "PodDisruptionBudget", "Secret", "Service", "Service"]);
  });

  test("every value is used by some template", () => {
    const source = readdirSync(`${CHART}/templates`)
      .map((file) => readChartFile(`templates/${file}`))
      .join("\n");
    for (const [name, value] of Object.entries(defaultValues())) {
      const parts =
        ["settings", "resources"].includes(name) || Object.keys(value as object).length === 0 ? [] : value;
      const paths =
        typeof parts === "object" && Object.keys(parts as object).length > 0
          ? Object.keys(parts as object).map((part) => `.Values.${name}.${part}`)
          : [`.Values.${name}`];
      for (const path of paths) expect(source).toContain(path);
    }
  });

  test("the notes name the services", () => {
    const { notes } = renderChart({ secret: SECRET }, "gatehouse-eu");
    expect(notes).toContain("http://gatehouse-eu.default:80");
    expect(notes).toContain("service/gatehouse-eu-admin 8080:8080");
  });
});
