// Sends a chat through the data plane, as an application would, and reads the answer in either wire format as it comes.
import { readEvents } from "../api/event-stream.ts";

export interface ChatCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

export interface ChatProgress {
  readonly status: number | null;
  readonly headers: Headers | null;
  /** What the model said so far. */
  readonly text: string;
  /** The answer as it came. */
  readonly raw: string;
  readonly input: number | null;
  readonly output: number | null;
  /** Milliseconds since it was sent, as this browser saw them. */
  readonly headersMs: number | null;
  readonly firstTextMs: number | null;
  readonly totalMs: number | null;
  /** In the words of whoever refused. */
  readonly fault: string | null;
}

const NOTHING_YET: ChatProgress = {
  status: null,
  headers: null,
  text: "",
  raw: "",
  input: null,
  output: null,
  headersMs: null,
  firstTextMs: null,
  totalMs: null,
  fault: null,
};

const MAX_RAW = 200_000;

export async function sendChat(
  call: ChatCall,
  signal: AbortSignal,
  onProgress: (progress: ChatProgress) => void,
): Promise<ChatProgress> {
  const started = performance.now();
  const since = () => performance.now() - started;
  let progress = NOTHING_YET;
  const tell = (change: Partial<ChatProgress>) => {
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
    tell({ status: response.status, headers: response.headers, headersMs: since() });
    const isStream = (response.headers.get("content-type") ?? "").includes("text/event-stream");
    if (isStream && response.body !== null) {
      for await (const { data } of readEvents(response.body)) {
        const raw = (progress.raw + data + "\n").slice(0, MAX_RAW);
        tell({ raw, ...read(parse(data), progress, since) });
      }
    } else {
      const raw = await response.text();
      tell({ raw: raw.slice(0, MAX_RAW), ...read(parse(raw), progress, since) });
    }
    tell({ totalMs: since() });
  } catch (error) {
    const fault = signal.aborted
      ? "Stopped here; the provider's work was cancelled too."
      : `The answer broke off: ${error instanceof Error ? error.message : String(error)}`;
    tell({ fault, totalMs: since() });
  }
  return progress;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** What one event, or a whole answer, adds. */
function read(value: unknown, before: ChatProgress, since: () => number): Partial<ChatProgress> {
  const text = textOf(value);
  const usage = usageOf(value);
  const error = faultOf(value);
  return {
    ...(text !== "" && { text: before.text + text, firstTextMs: before.firstTextMs ?? since() }),
    ...(usage.input !== null && { input: usage.input }),
    ...(usage.output !== null && { output: usage.output }),
    ...(error !== null && { fault: error }),
  };
}

/** The value at a way of names and numbers, or undefined. */
function at(value: unknown, ...way: readonly (string | number)[]): unknown {
  let current = value;
  for (const step of way) {
    if (typeof current !== "object" || current === null) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

function textOf(value: unknown): string {
  const found = [
    at(value, "choices", 0, "delta", "content"),
    at(value, "choices", 0, "message", "content"),
    at(value, "delta", "text"),
  ].find((each) => typeof each === "string");
  if (typeof found === "string") return found;
  const blocks = at(value, "content");
  if (!Array.isArray(blocks)) return "";
  return blocks
    .map((block) => at(block, "text"))
    .filter((text) => typeof text === "string")
    .join("");
}

function usageOf(value: unknown): { input: number | null; output: number | null } {
  const usage = at(value, "usage") ?? at(value, "message", "usage");
  const count = (...names: readonly string[]) => {
    const found = names.map((name) => at(usage, name)).find((each) => typeof each === "number");
    return typeof found === "number" ? found : null;
  };
  return {
    input: count("prompt_tokens", "input_tokens"),
    output: count("completion_tokens", "output_tokens"),
  };
}

function faultOf(value: unknown): string | null {
  const error = at(value, "error");
  if (typeof error === "string") return error;
  const message = at(error, "message");
  return typeof message === "string" ? message : null;
}
