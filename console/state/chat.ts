// Sends a chat request through the data plane and parses the response, streamed or not, in the OpenAI or Anthropic format.
import { toError } from "../api/client.ts";
import { readEvents } from "../api/event-stream.ts";
import { valueAt } from "./json-path.ts";

export interface ChatCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface ChatProgress {
  readonly status: number | null;
  readonly headers: Headers | null;
  /** The model's output so far. */
  readonly text: string;
  /** The response body, or the `data` lines of the stream. */
  readonly raw: string;
  readonly input: number | null;
  readonly output: number | null;
  /** Milliseconds since the request was sent, measured in the browser. */
  readonly headersMs: number | null;
  readonly firstTextMs: number | null;
  readonly totalMs: number | null;
  /** The message of the gateway or provider that rejected the request. */
  readonly error: string | null;
}

const INITIAL_PROGRESS: ChatProgress = {
  status: null,
  headers: null,
  text: "",
  raw: "",
  input: null,
  output: null,
  headersMs: null,
  firstTextMs: null,
  totalMs: null,
  error: null,
};

const MAX_RAW_CHARACTERS = 200_000;

/** Sends the request and calls `onProgress` for each part of the response. Never throws: errors end up in the progress. */
export async function sendChat(
  call: ChatCall,
  signal: AbortSignal,
  onProgress: (progress: ChatProgress) => void,
): Promise<ChatProgress> {
  const started = performance.now();
  const elapsed = () => performance.now() - started;
  let progress = INITIAL_PROGRESS;
  const update = (change: Partial<ChatProgress>) => {
    progress = { ...progress, ...change };
    onProgress(progress);
  };
  try {
    const response = await fetch(location.origin + call.path, {
      method: call.method,
      headers: call.headers,
      signal,
      ...(call.method !== "GET" && call.method !== "HEAD" && { body: JSON.stringify(call.body) }),
    });
    update({ status: response.status, headers: response.headers, headersMs: elapsed() });
    const isStream = (response.headers.get("content-type") ?? "").includes("text/event-stream");
    if (isStream && response.body !== null) {
      for await (const { data } of readEvents(response.body)) {
        const raw = (progress.raw + data + "\n").slice(0, MAX_RAW_CHARACTERS);
        update({ raw, ...readChunk(tryParseJson(data), progress, elapsed) });
      }
    } else {
      const raw = await response.text();
      update({ raw: raw.slice(0, MAX_RAW_CHARACTERS), ...readChunk(tryParseJson(raw), progress, elapsed) });
    }
    update({ totalMs: elapsed() });
  } catch (error) {
    const message = signal.aborted
      ? "Stopped. The request to the provider was canceled."
      : `The response ended early: ${toError(error).message}`;
    update({ error: message, totalMs: elapsed() });
  }
  return progress;
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** Returns what one stream event, or a complete response body, adds to the progress. */
function readChunk(value: unknown, before: ChatProgress, elapsed: () => number): Partial<ChatProgress> {
  const text = textIn(value);
  const usage = usageIn(value);
  const error = errorIn(value);
  return {
    ...(text !== "" && { text: before.text + text, firstTextMs: before.firstTextMs ?? elapsed() }),
    ...(usage.input !== null && { input: usage.input }),
    ...(usage.output !== null && { output: usage.output }),
    ...(error !== null && { error }),
  };
}

function textIn(value: unknown): string {
  const found = [
    valueAt(value, ["choices", 0, "delta", "content"]),
    valueAt(value, ["choices", 0, "message", "content"]),
    valueAt(value, ["delta", "text"]),
  ].find((each) => typeof each === "string");
  if (typeof found === "string") return found;
  const blocks = valueAt(value, ["content"]);
  if (!Array.isArray(blocks)) return "";
  return blocks
    .map((block) => valueAt(block, ["text"]))
    .filter((text) => typeof text === "string")
    .join("");
}

function usageIn(value: unknown): { input: number | null; output: number | null } {
  const usage = valueAt(value, ["usage"]) ?? valueAt(value, ["message", "usage"]);
  const count = (...names: readonly string[]) => {
    const found = names.map((name) => valueAt(usage, [name])).find((each) => typeof each === "number");
    return typeof found === "number" ? found : null;
  };
  return {
    input: count("prompt_tokens", "input_tokens"),
    output: count("completion_tokens", "output_tokens"),
  };
}

function errorIn(value: unknown): string | null {
  const error = valueAt(value, ["error"]);
  if (typeof error === "string") return error;
  const message = valueAt(error, ["message"]);
  return typeof message === "string" ? message : null;
}
