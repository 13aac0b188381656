// A chat provider whose streams advance only when the test says so: each call is started, sent to and ended by the test.
// Waits are resolved by what happens, because a test has thousands of them.

const HEADERS = { "Content-Type": "text/event-stream" };
const encoder = new TextEncoder();

/** Callers that wait until something has happened. */
class Changes {
  #waiters: (() => void)[] = [];

  happened(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const resolve of waiters) resolve();
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }
}

const data = (event: unknown) => encoder.encode(`data: ${JSON.stringify(event)}\n\n`);
const choice = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] });

/** One request that the provider has received. */
export class SteppedCall {
  readonly body: Record<string, unknown>;
  isClosed = false;
  readonly #changes = new Changes();
  readonly #response = Promise.withResolvers<Response>();
  #stream: ReadableStreamDefaultController<Uint8Array> | null = null;

  constructor(body: Record<string, unknown>, signal: AbortSignal) {
    this.body = body;
    signal.addEventListener("abort", () => {
      this.isClosed = true;
      this.#response.resolve(new Response(null));
      this.#changes.happened();
    });
  }

  get response(): Promise<Response> {
    return this.#response.promise;
  }

  /** Sends the headers and the first event, which has no content. */
  start(): void {
    if (this.#stream !== null) return;
    const stream = new ReadableStream<Uint8Array>({
      start: (controller) => void (this.#stream = controller),
    });
    this.#response.resolve(new Response(stream, { headers: HEADERS }));
    this.send({ role: "assistant", content: "" });
  }

  send(delta: object): void {
    this.start();
    this.#stream?.enqueue(data(choice(delta)));
  }

  /** Ends the stream with these tokens. */
  end(input: number, output: number, reasoning: number): void {
    this.start();
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      completion_tokens_details: { reasoning_tokens: reasoning },
    };
    this.#stream?.enqueue(data({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }));
    this.#stream?.enqueue(data({ choices: [], usage }));
    this.#stream?.enqueue(encoder.encode("data: [DONE]\n\n"));
    this.#stream?.close();
  }

  /** Responds without a stream. */
  respond(input: number, output: number, reasoning: number): void {
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      completion_tokens_details: { reasoning_tokens: reasoning },
    };
    const message = { role: "assistant", content: "Good morning" };
    this.#response.resolve(Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage }));
  }

  closed(): Promise<void> {
    return this.#changes.until(() => this.isClosed);
  }
}

export class SteppedProvider {
  readonly calls: SteppedCall[] = [];
  readonly #changes = new Changes();
  readonly #server = Bun.serve({
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const call = new SteppedCall((await request.json()) as Record<string, unknown>, request.signal);
      this.calls.push(call);
      this.#changes.happened();
      return call.response;
    },
  });

  get url(): string {
    return this.#server.url.origin;
  }

  /** Resolves to the call with this number, from 0. */
  async call(number: number): Promise<SteppedCall> {
    await this.#changes.until(() => this.calls.length > number);
    const call = this.calls[number];
    if (call === undefined) throw new Error("no call");
    return call;
  }

  stop(): Promise<void> {
    return this.#server.stop(true);
  }
}

/** A client that reads a stream until it leaves. */
export class LeavingClient {
  received = "";
  status = 0;
  readonly #leaving = new AbortController();
  readonly #changes = new Changes();
  /** Resolves when the response has ended or the client has left. */
  readonly ended: Promise<void>;

  constructor(url: string, body: object, headers: Record<string, string> = {}) {
    this.ended = this.#read(url, body, headers).catch(() => undefined);
  }

  leave(): void {
    this.#leaving.abort();
  }

  /** Resolves when the text has arrived this many times. */
  until(text: string, count = 1): Promise<void> {
    return this.#changes.until(() => this.received.split(text).length > count);
  }

  async #read(url: string, body: object, headers: Record<string, string>): Promise<void> {
    const response = await fetch(url, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...headers },
      body: JSON.stringify(body),
      signal: this.#leaving.signal,
    });
    this.status = response.status;
    this.#changes.happened();
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      this.received += decoder.decode(chunk as Uint8Array, { stream: true });
      this.#changes.happened();
    }
  }
}
