// Example of a custom plugin: adds a header with a value that an external service knows about the API key, such as its tenant. The service
// has a time limit, and its values are kept for a while, so that it is not asked for every request.
import { definePlugin, z } from "gatehouse/sdk";

const MAX_KEPT = 10_000;
/** Visible ASCII characters. A longer or other value is not what the service should return. */
const VALUE = /^[!-~]{1,256}$/;

interface KeptValue {
  readonly value: Promise<string>;
  readonly expiresAt: number;
}

export default definePlugin({
  name: "lookup_header",
  description: "Adds a header with a value that an external service returns for the API key.",
  stages: ["pre_request"],
  explainable: true,
  settings: z.strictObject({
    url: z.url({ protocol: /^https?$/ }).meta({ description: "The id of the API key is added as `key`." }),
    header: z
      .string()
      .regex(/^[A-Za-z0-9-]{1,64}$/)
      .default("X-Tenant"),
    timeout_ms: z.int().min(1).max(4000).default(300),
    keep_seconds: z.int().min(0).max(86_400).default(60),
    on_failure: z.enum(["continue", "reject"]).default("continue"),
  }),
  create({ url, header, timeout_ms, keep_seconds, on_failure }, host) {
    // Another URL has other values.
    const kept = host.keep(`values of ${url}`, () => new Map<string, KeptValue>());

    const ask = async (key: string): Promise<string> => {
      const asked = new URL(url);
      asked.searchParams.set("key", key);
      const response = await fetch(asked, { signal: AbortSignal.timeout(timeout_ms), redirect: "error" });
      if (!response.ok) throw new Error(`the service responded with status ${response.status}`);
      const value = (await response.text()).trim();
      if (!VALUE.test(value)) throw new Error("the service returned no value for a header");
      return value;
    };

    const lookUp = (key: string): Promise<string> => {
      const now = Date.now();
      const known = kept.get(key);
      if (known !== undefined && now < known.expiresAt) return known.value;
      const value = ask(key);
      kept.delete(key);
      kept.set(key, { value, expiresAt: now + keep_seconds * 1000 });
      // The next request asks again, if this one fails.
      value.catch(() => kept.delete(key));
      for (const oldest of kept.keys()) {
        if (kept.size <= MAX_KEPT) break;
        kept.delete(oldest);
      }
      return value;
    };

    return {
      async pre_request(context) {
        // Clients must not choose the value.
        context.removeHeader(header);
        const key = context.apiKey?.id;
        if (key === undefined || host.isExplaining) return;
        try {
          context.setHeader(header, await lookUp(key));
        } catch (error) {
          context.count("failed");
          host.log("warn", "header lookup failed", { reason: String(error) });
          if (on_failure === "reject")
            context.respond({
              status: 503,
              body: { error: "The tenant is not known at the moment. Retry later.", code: "lookup_failed" },
            });
        }
      },
    };
  },
});
