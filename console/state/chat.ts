// Sends a chat request through the data plane and reads the response, streamed or not.
import { toError } from "../api/client.ts";
import { readEvents } from "../api/event-stream.ts";
import { parseJson, readChunk, type ChatContent } from "./chat-chunks.ts";

export interface ChatCall {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ChatProgress extends ChatContent {
  readonly status: number | null;
  readonly headers: Headers | null;
  /** The response body, or the `data` lines of the stream. */
  readonly raw: string;
  /** Milliseconds since the request was sent, measured in the browser. */
  readonly headersMs: number | null;
  readonly firstTextMs: number | null;
  readonly totalMs: number | null;
  readonly isStopped: boolean;
}

export const INITIAL_PROGRESS: ChatProgress = {
  status: null,
  headers: null,
  text: "",
  toolCalls: [],
  raw: "",
  input: null,
  output: null,
  headersMs: null,
  firstTextMs: null,
  totalMs: null,
  error: null,
  isStopped: false,
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
  const add = (raw: string, data: string) => {
    const change = readChunk(parseJson(data), progress);
    const isFirst = progress.firstTextMs === null && ("text" in change || "toolCalls" in change);
    update({
      raw: raw.slice(0, MAX_RAW_CHARACTERS),
      ...change,
      ...(isFirst && { firstTextMs: elapsed() }),
    });
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
    if (isStream && response.body !== null)
      for await (const { data } of readEvents(response.body)) add(`${progress.raw}${data}\n`, data);
    else {
      const raw = await response.text();
      add(raw, raw);
    }
    update({ totalMs: elapsed() });
  } catch (error) {
    if (signal.aborted) update({ isStopped: true, totalMs: elapsed() });
    else update({ error: `The response ended early: ${toError(error).message}`, totalMs: elapsed() });
  }
  return progress;
}
