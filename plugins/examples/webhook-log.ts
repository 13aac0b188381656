// Example of a custom plugin: posts a line about each request to a webhook, in batches. The queue is bounded; a batch is sent when it is full,
// when its time is over, and when the process stops. No request waits for the webhook.
import { definePlugin, z, type PluginHost } from "gatehouse/sdk";

interface Options {
  readonly url: string;
  readonly batch_size: number;
  readonly interval_ms: number;
  readonly max_queued: number;
  readonly timeout_ms: number;
}

class Batches {
  /** Replaced when the settings change: the queue outlives them. */
  options: Options;
  readonly #log: PluginHost["log"];
  readonly #queue: unknown[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sending: Promise<boolean> | null = null;
  #hasFailed = false;

  constructor(options: Options, log: PluginHost["log"]) {
    this.options = options;
    this.#log = log;
  }

  /** Returns false if the queue is full: the line is dropped. */
  add(line: unknown): boolean {
    if (this.#queue.length >= this.options.max_queued) return false;
    this.#queue.push(line);
    this.#schedule();
    return true;
  }

  /** Sends everything. Ends with the first batch that fails. */
  async flush(): Promise<void> {
    while (this.#queue.length > 0 && (await this.#send())) {
      // The next batch.
    }
    clearTimeout(this.#timer);
    if (this.#queue.length > 0)
      this.#log("error", "webhook log stopped with lines that were not sent", { lines: this.#queue.length });
  }

  /** After a failure, full batches wait for the interval as well. */
  #schedule(): void {
    const { batch_size, interval_ms } = this.options;
    if (this.#queue.length >= batch_size && !this.#hasFailed) void this.#send();
    else if (this.#queue.length > 0) this.#timer ??= setTimeout(() => void this.#send(), interval_ms);
  }

  /** Resolves to whether the batch was sent. One batch at a time, so that lines arrive in order. */
  #send(): Promise<boolean> {
    return (this.#sending ??= this.#post().then((isSent) => {
      this.#sending = null;
      this.#hasFailed = !isSent;
      this.#schedule();
      return isSent;
    }));
  }

  async #post(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { url, batch_size, timeout_ms } = this.options;
    const batch = this.#queue.slice(0, batch_size);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(batch),
        signal: AbortSignal.timeout(timeout_ms),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the webhook responded with status ${response.status}`);
    } catch (error) {
      // The batch stays in the queue and is sent again after the interval.
      this.#log("warn", "webhook log could not send a batch", { reason: String(error), lines: batch.length });
      return false;
    }
    this.#queue.splice(0, batch.length);
    return true;
  }
}

export default definePlugin({
  name: "webhook_log",
  description: "Posts a line about each request to a webhook, in batches.",
  stages: ["post_response"],
  settings: z.strictObject({
    url: z.url({ protocol: /^https?$/ }),
    batch_size: z.int().min(1).max(1000).default(100),
    interval_ms: z.int().min(10).max(60_000).default(5000),
    max_queued: z.int().min(1).max(100_000).default(10_000),
    timeout_ms: z.int().min(1).max(4000).default(3000),
  }),
  create(settings, host) {
    const batches = host.keep("batches", () => new Batches(settings, (...args) => host.log(...args)));
    batches.options = settings;
    return {
      post_response(context) {
        const { requestId, gateway, rule, apiKey, status, outcome, provider, model, durationMs, usage } =
          context;
        const isQueued = batches.add({
          time: new Date().toISOString(),
          request_id: requestId,
          gateway: gateway.name,
          rule: rule.name ?? rule.path,
          api_key: apiKey?.name ?? null,
          status,
          outcome,
          provider,
          model,
          duration_ms: Math.round(durationMs),
          input_tokens: usage?.inputTokens ?? null,
          output_tokens: usage?.outputTokens ?? null,
        });
        if (!isQueued) context.count("dropped");
      },
      stop: () => batches.flush(),
    };
  },
});
