// Defaults of the settings, and the error message for every invalid value.
import { describe, expect, test } from "bun:test";
import { availableParallelism, hostname } from "node:os";
import fc from "fast-check";
import { isLoopback } from "./loopback.ts";
import { signInSettings } from "./sign-in-settings.ts";
import { readSettings, SETTINGS, SettingsError } from "./settings.ts";
import { grapheme } from "../../test/support/characters.ts";

describe("readSettings", () => {
  test("defaults", () => {
    const { TRUSTED_PROXIES, ...settings } = readSettings({});
    expect(settings).toEqual({
      SERVER_SECRET_KEY: null,
      ALLOW_WEAK_SECRET: false,
      HOST: "127.0.0.1",
      ADMIN_PORT: 8080,
      ADMIN_FALLTHROUGH: true,
      PROXY_PORT: 8081,
      OPERATIONS_PORT: null,
      DATA_DIR: "data",
      DATABASE_URL: null,
      REDIS_URL: null,
      REDIS_SILENT_MS: 16,
      REDIS_CLOSED_MS: 1000,
      WORKERS: 1,
      PLUGINS_DIR: "plugins",
      PLUGIN_USER: null,
      PLUGIN_MEMORY_MB: 256,
      BASE_DOMAIN: null,
      PUBLIC_URL: null,
      REQUIRE_API_KEY: false,
      MAX_BODY_BYTES: 10_485_760,
      MAX_UPLOAD_BYTES: 104_857_600,
      MAX_BUFFERED_BYTES: null,
      MAX_IN_FLIGHT: 20_000,
      MAX_IN_FLIGHT_PER_CLIENT: 10_000,
      MAX_IN_FLIGHT_PER_GATEWAY: 15_000,
      ENCRYPTION_KEY: null,
      ALLOW_ENVIRONMENT_CREDENTIALS: false,
      OIDC_ISSUER: null,
      OIDC_CLIENT_ID: null,
      OIDC_CLIENT_SECRET: null,
      OIDC_SCOPES: "openid profile email",
      OIDC_GROUPS_CLAIM: "groups",
      OIDC_ROLES: new Map(),
      ADMIN_PUBLIC_URL: null,
      SESSION_SECONDS: 28_800,
      REVISIONS_KEPT: 10_000,
      AUDIT_KEPT: 100_000,
      MAX_BLOCKS: 10_000,
      LOG_LEVEL: "info",
      LOG_FORMAT: null,
      NODE_NAME: hostname(),
      REQUEST_LOG_SIZE: 1000,
      REQUEST_LOG_SINK: null,
      REQUEST_LOG_MAX_BYTES: 104_857_600,
      REQUEST_LOG_KEPT_FILES: 5,
      OTEL_EXPORTER_OTLP_ENDPOINT: null,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: null,
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: null,
      OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: null,
      OTEL_EXPORTER_OTLP_HEADERS: {},
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: null,
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: null,
      OTEL_EXPORTER_OTLP_LOGS_HEADERS: null,
      OTEL_SERVICE_NAME: null,
      OTEL_RESOURCE_ATTRIBUTES: { attributes: {}, problem: null },
      OTEL_METRICS_EXPORTER: "none",
      OTEL_METRIC_EXPORT_INTERVAL: 60_000,
      OTEL_TRACES_SAMPLER_ARG: 1,
      OTEL_BSP_SCHEDULE_DELAY: 1000,
      WATCHDOG_SECONDS: 5,
      DRAIN_DELAY_MS: 1000,
      DRAIN_SECONDS: 30,
    });
    for (const address of ["127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1"]) {
      expect(TRUSTED_PROXIES.check(address)).toBe(true);
    }
    expect(TRUSTED_PROXIES.check("::1", "ipv6")).toBe(true);
    expect(TRUSTED_PROXIES.check("8.8.8.8")).toBe(false);
  });

  test("an empty or blank value is unset", () => {
    const blank = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, "  "]));
    expect(JSON.stringify(readSettings(blank))).toBe(JSON.stringify(readSettings({})));
  });

  test("PUBLIC_URL is an address of HTTP, without a slash at the end", () => {
    const read = (text: string) => readSettings({ PUBLIC_URL: text }).PUBLIC_URL;
    expect(read("https://ai.example.com/")).toBe("https://ai.example.com");
    expect(read("http://10.0.0.1:8081/llm/")).toBe("http://10.0.0.1:8081/llm");
    for (const text of [
      "ai.example.com",
      "ftp://ai.example.com",
      "https://user@ai.example.com",
      "https://ai.example.com/?",
    ])
      expect(() => read(text)).toThrow(/^PUBLIC_URL is "/);
  });

  describe("sign-in", () => {
    const complete = {
      OIDC_ISSUER: "https://login.example.com",
      OIDC_CLIENT_ID: "gatehouse",
      OIDC_ROLES: "platform=owner, staff = viewer,cn=a%2Cou=b=operator",
      ADMIN_PUBLIC_URL: "https://gatehouse.example.com/",
    };

    test("is off without OIDC_ISSUER", () => {
      expect(signInSettings(readSettings({}))).toBeNull();
      expect(signInSettings(readSettings({ OIDC_CLIENT_ID: "x" }))).toBeNull();
    });

    test("groups may contain equals signs, and commas as %2C", () => {
      const settings = signInSettings(readSettings({ ...complete, OIDC_CLIENT_SECRET: " s " }));
      expect([...(settings?.roles ?? [])]).toEqual([
        ["platform", "owner"],
        ["staff", "viewer"],
        ["cn=a,ou=b", "operator"],
      ]);
      expect(settings).toMatchObject({ publicUrl: "https://gatehouse.example.com", clientSecret: " s " });
    });

    test("the address of the console is known on a loopback HOST with a fixed port", () => {
      const rest = { ...complete, ADMIN_PUBLIC_URL: "" };
      expect(signInSettings(readSettings({ ...rest, ADMIN_PORT: "9000" }))?.publicUrl).toBe(
        "http://127.0.0.1:9000",
      );
      expect(signInSettings(readSettings({ ...rest, HOST: "::1" }))?.publicUrl).toBe("http://[::1]:8080");
      for (const environment of [{ HOST: "0.0.0.0" }, { ADMIN_PORT: "0" }])
        expect(() => readSettings({ ...rest, ...environment })).toThrow(/^ADMIN_PUBLIC_URL is not set/);
    });

    test.each([
      ["OIDC_CLIENT_ID", ""],
      ["OIDC_ROLES", ""],
      ["OIDC_ROLES", "platform=root"],
      ["OIDC_ROLES", "platform"],
      ["OIDC_ROLES", "=owner"],
      ["OIDC_ROLES", "a=owner,a=viewer"],
      ["OIDC_ISSUER", "login.example.com"],
      ["OIDC_ISSUER", "http://login.example.com"],
      ["OIDC_ISSUER", "https://login.example.com?x=1"],
      ["ADMIN_PUBLIC_URL", "http://gatehouse.example.com"],
      ["ADMIN_PUBLIC_URL", "https://gatehouse.example.com/path"],
      ["ADMIN_PUBLIC_URL", "gatehouse"],
      ["OIDC_SCOPES", "profile"],
      ["SESSION_SECONDS", "59"],
    ])("rejects %s=%p", (name, value) => {
      expect(() => readSettings({ ...complete, [name]: value })).toThrow(new RegExp(`^${name} `));
    });
  });

  test("ENCRYPTION_KEY is one key, exactly as given, or several, the newest first", () => {
    const keys = (text: string) => readSettings({ ENCRYPTION_KEY: text }).ENCRYPTION_KEY;
    expect(keys("one key ")).toEqual(["one key "]);
    expect(keys("new,old")).toEqual(["new", "old", "new,old"]);
    // Older versions used a key with a comma or with whitespace around it as it is.
    expect(keys("new, old\n")).toEqual(["new", "old", " old\n", "new, old\n"]);
    expect(keys(",old")).toEqual(["old", ",old"]);
    expect(() => keys(" , ")).toThrow("ENCRYPTION_KEY has no key");
  });

  test("REDIS_URL takes several nodes of a cluster", () => {
    for (const REDIS_URL of ["redis://a:1,b:2", "rediss://u:p@a:1, rediss://u:p@b:2", "redis://a:1,[::1]:2"])
      expect(readSettings({ REDIS_URL }).REDIS_URL).toBe(REDIS_URL);
    for (const REDIS_URL of ["a:1,b:2", "redis://a:1,http://b:2", "redis://a:1,b:x"])
      expect(() => readSettings({ REDIS_URL })).toThrow("REDIS_URL");
  });

  test("WORKERS is the number of cores with REDIS_URL, unless it is set", () => {
    const REDIS_URL = "redis://localhost";
    expect(readSettings({ REDIS_URL }).WORKERS).toBe(availableParallelism());
    expect(readSettings({ REDIS_URL, WORKERS: "3" }).WORKERS).toBe(3);
  });

  test("parses the settings for traces", () => {
    const read = (text: string) =>
      readSettings({ OTEL_EXPORTER_OTLP_HEADERS: text }).OTEL_EXPORTER_OTLP_HEADERS;
    expect(read("Api-Key=se%20cret=, x-tenant = acme ,")).toEqual({
      "api-key": "se cret=",
      "x-tenant": "acme",
    });
    for (const bad of ["hidden-secret", "a b=hidden-secret", "a=hidden-secret%0Ab", "a=hidden-secret%zz"]) {
      expect(() => read(bad)).toThrow(/^OTEL_EXPORTER_OTLP_HEADERS is not valid/);
      expect(() => read(bad)).not.toThrow("hidden-secret");
    }
    const ratio = (text: string) => readSettings({ OTEL_TRACES_SAMPLER_ARG: text }).OTEL_TRACES_SAMPLER_ARG;
    expect([ratio("0"), ratio("0.25"), ratio(".5"), ratio("1.0")]).toEqual([0, 0.25, 0.5, 1]);
    for (const bad of ["1.1", "-0.1", "half", "1e-2", "0x1"]) expect(() => ratio(bad)).toThrow(SettingsError);
  });

  test("OTEL_RESOURCE_ATTRIBUTES is percent-decoded; a value with an invalid entry is discarded as a whole", () => {
    const read = (text: string) => readSettings({ OTEL_RESOURCE_ATTRIBUTES: text }).OTEL_RESOURCE_ATTRIBUTES;
    expect(read("a=1, b.c = x%20y%2C%3D ,%C3%A4=,__proto__=z,a=2,")).toEqual({
      attributes: Object.fromEntries([
        ["a", "2"],
        ["b.c", "x y,="],
        ["ä", ""],
        ["__proto__", "z"],
      ]),
      problem: null,
    });
    for (const [text, entry] of [
      ["a=1,region", "region"],
      ["a=1,=x", "=x"],
      ["a=1,b=%zz", "b=%zz"],
      ["%FF=1", "%FF=1"],
    ] as const)
      expect(read(text)).toEqual({
        attributes: {},
        problem: `has the entry "${entry}"`,
      });
  });

  test("OTEL_METRICS_EXPORTER needs an endpoint", () => {
    const OTEL_METRICS_EXPORTER = "otlp";
    const url = "http://localhost:4318";
    for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"])
      expect(readSettings({ OTEL_METRICS_EXPORTER, [name]: url }).OTEL_METRICS_EXPORTER).toBe("otlp");
    for (const env of [{}, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url }])
      expect(() => readSettings({ OTEL_METRICS_EXPORTER, ...env })).toThrow(
        "OTEL_METRICS_EXPORTER is otlp, but there is no endpoint; set OTEL_EXPORTER_OTLP_ENDPOINT or " +
          "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
      );
  });

  test("REQUEST_LOG_SINK otlp needs an endpoint", () => {
    const REQUEST_LOG_SINK = "otlp";
    const url = "http://localhost:4318";
    for (const name of ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
      expect(readSettings({ REQUEST_LOG_SINK, [name]: url }).REQUEST_LOG_SINK).toEqual({ kind: "otlp" });
    for (const env of [{}, { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url }])
      expect(() => readSettings({ REQUEST_LOG_SINK, ...env })).toThrow(
        "REQUEST_LOG_SINK is otlp, but there is no endpoint; set OTEL_EXPORTER_OTLP_ENDPOINT or " +
          "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT",
      );
  });

  test("REQUEST_LOG_SINK is a file or otlp", () => {
    const read = (text: string) => readSettings({ REQUEST_LOG_SINK: text }).REQUEST_LOG_SINK;
    const file = { kind: "file" as const, path: "/var/log/requests.jsonl" };
    expect(read("file:/var/log/requests.jsonl")).toEqual(file);
    expect(read("file:///var/log/requests.jsonl")).toEqual(file);
    expect(read("file:data/requests.jsonl")).toEqual({ ...file, path: "data/requests.jsonl" });
    for (const bad of ["file:", "file://", "file:/var/log/", "/var/log/requests.jsonl", "kafka"])
      expect(() => read(bad)).toThrow(
        `REQUEST_LOG_SINK is "${bad}"; give a file such as file:/var/log/gatehouse/requests.jsonl, or otlp`,
      );
  });

  test("TRUSTED_PROXIES accepts addresses, CIDRs, and none", () => {
    const listed = readSettings({ TRUSTED_PROXIES: "203.0.113.7, 2001:db8::/32" }).TRUSTED_PROXIES;
    expect(listed.check("203.0.113.7")).toBe(true);
    expect(listed.check("203.0.113.8")).toBe(false);
    expect(listed.check("2001:db8::1", "ipv6")).toBe(true);
    expect(listed.check("127.0.0.1")).toBe(false);
    expect(readSettings({ TRUSTED_PROXIES: "none" }).TRUSTED_PROXIES.check("127.0.0.1")).toBe(false);
    for (const text of ["10.0.0.0/8/32", "fe80::1%eth0/64", "10.0.0.0/33", "10.0.0.0/", "010.0.0.0/8"])
      expect(() => readSettings({ TRUSTED_PROXIES: text })).toThrow(SettingsError);
  });

  test("ports are whole numbers from 0 to 65535", () => {
    fc.assert(
      fc.property(fc.nat({ max: 65_535 }), (port) => {
        expect(readSettings({ ADMIN_PORT: String(port) }).ADMIN_PORT).toBe(port);
      }),
    );
    for (const text of ["65536", "-1", "1.5", "0x50", "1e3", "８０", "+80", "80 80"]) {
      expect(() => readSettings({ ADMIN_PORT: text })).toThrow(SettingsError);
    }
  });

  test("any value is either accepted or rejected with a message that names the setting", () => {
    const name = fc.constantFrom(...Object.keys(SETTINGS));
    fc.assert(
      fc.property(name, fc.string({ unit: grapheme }), (setting, text) => {
        try {
          readSettings({ [setting]: text });
        } catch (error) {
          expect(error).toBeInstanceOf(SettingsError);
          expect((error as SettingsError).message).toStartWith(`${setting} `);
        }
      }),
    );
  });

  test("a database in memory is rejected", () => {
    expect(() => readSettings({ DATABASE_URL: "sqlite://:memory:" })).toThrow(
      "DATABASE_URL is :memory:, which connections do not share; give a file such as sqlite://data/gatehouse.db",
    );
  });

  test("a message does not repeat a URL that may contain a password", () => {
    for (const name of ["DATABASE_URL", "REDIS_URL"]) {
      const read = () => readSettings({ [name]: "ftp://user:hunter2@host" });
      expect(read).toThrow(name);
      expect(read).not.toThrow("hunter2");
    }
  });
});

describe("isLoopback", () => {
  test.each(["127.0.0.1", "127.1.2.3", "::1", "localhost"])("%s is", (host) =>
    expect(isLoopback(host)).toBe(true),
  );
  test.each(["0.0.0.0", "::", "10.0.0.1", "127.example.com", "localhost.example.com", "128.0.0.1", ""])(
    "%p is not",
    (host) => expect(isLoopback(host)).toBe(false),
  );
});
