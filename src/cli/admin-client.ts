// Client of the Admin API for commands: address, token, checked responses, and one-line errors that say how to fix them.
import { userInfo } from "node:os";
import { z } from "zod";
import type { ErrorDetail } from "../base/errors.ts";
import { UsageError } from "./command.ts";
import { mintToken, requireServerSecret } from "./mint-token.ts";

export interface AdminClientFlags {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

/** Paths are relative to /api/v1. A response that does not match the given schema is an error. */
export interface AdminClient {
  readonly url: string;
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  /** Returns the response body unparsed, in the media type `accept`. */
  getText(path: string, accept: string): Promise<string>;
  /** Opens a stream of server-sent events, which `signal` aborts. Throws a GatewayUnavailable if a later attempt may succeed. */
  getStream(path: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  patch<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  delete(path: string): Promise<void>;
}

export const CLIENT_OPTIONS = { url: { type: "string" }, token: { type: "string" } } as const;

export const CLIENT_HELP = `  --url URL      address of the Admin API; default GATEHOUSE_URL, else port ADMIN_PORT (8080) of 127.0.0.1
  --token TOKEN  admin token; default GATEHOUSE_TOKEN, else one signed with SERVER_SECRET_KEY or the secret in DATA_DIR`;

const EXAMPLE_URL = "http://127.0.0.1:8080";
const DEADLINE_MS = 30_000;
/** The server gives up a long write after 30 seconds. Its response must arrive before the client gives up. */
const WRITE_DEADLINE_MS = 45_000;
/** Long enough for one command, and short enough that a leaked token is worthless soon. */
const TOKEN_SECONDS = 300;

const errorBodySchema = z.object({
  error: z.string(),
  code: z.string().default(""),
  details: z.array(z.object({ path: z.string(), message: z.string() })).default([]),
});

/** The Admin API rejected a request; the message and the details are those of its error response. */
export class RejectedRequest extends Error {
  readonly details: readonly ErrorDetail[];
  readonly code: string;

  constructor(message: string, details: readonly ErrorDetail[], code = "") {
    super(message);
    this.name = "RejectedRequest";
    this.details = details;
    this.code = code;
  }
}

/** The gateway cannot be reached, or cannot respond at the moment. */
export class GatewayUnavailable extends Error {
  constructor(message: string) {
    super(message);
    this.name = "GatewayUnavailable";
  }
}

export async function adminClient(flags: AdminClientFlags): Promise<AdminClient> {
  const url = adminUrl(flags);
  const token =
    flags.token ??
    nonEmpty(process.env["GATEHOUSE_TOKEN"]) ??
    (await mintToken(
      requireServerSecret("give --token or GATEHOUSE_TOKEN, "),
      TOKEN_SECONDS,
      `cli:${userName()}`,
    ));
  const send = async (method: string, path: string, accept: string, body?: unknown): Promise<string> => {
    const response = await sendRequest(url, `/api/v1${path}`, {
      method,
      headers: {
        Accept: accept,
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw errorFor(response.status, text, url);
    return text;
  };
  const call = async <T>(method: string, path: string, schema: z.ZodType<T>, body?: unknown): Promise<T> => {
    const value = parseJson(await send(method, path, "application/json", body));
    if (!matches(schema, value))
      throw new Error(
        `${url} returned an unexpected body for ${method} ${path}; use the server's own version`,
      );
    return value;
  };
  return {
    url,
    get: (path, schema) => call("GET", path, schema),
    getText: (path, accept) => send("GET", path, accept),
    getStream: (path, signal) => openStream(url, path, token, signal),
    post: (path, body, schema) => call("POST", path, schema, body),
    patch: (path, body, schema) => call("PATCH", path, schema, body),
    delete: async (path) => {
      await send("DELETE", path, "application/json");
    },
  };
}

/** Checks without copying: `--json` prints the fields that a schema does not know, too. */
export function matches<T>(schema: z.ZodType<T>, value: unknown): value is T {
  return schema.safeParse(value).success;
}

/** Returns undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function adminUrl({ url }: AdminClientFlags): string {
  const given = url ?? nonEmpty(process.env["GATEHOUSE_URL"]) ?? localUrl();
  if (!/^https?:\/\//.test(given) || !URL.canParse(given))
    throw new UsageError(`--url is "${given}"; give an address such as ${EXAMPLE_URL}`);
  return given.replace(/\/+$/, "");
}

/** The gateway of this machine, on the port that its settings name. */
function localUrl(): string {
  const port = nonEmpty(process.env["ADMIN_PORT"]) ?? "8080";
  if (!/^\d{1,5}$/.test(port)) throw new UsageError(`ADMIN_PORT is "${port}"; give a port, or --url`);
  return `http://127.0.0.1:${port}`;
}

/** The deadline applies until the response headers arrive: the stream itself does not end. */
async function openStream(
  url: string,
  path: string,
  token: string,
  signal: AbortSignal,
): Promise<ReadableStream<Uint8Array>> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), DEADLINE_MS);
  try {
    const response = await sendRequest(url, `/api/v1${path}`, {
      headers: { Accept: "text/event-stream", Authorization: `Bearer ${token}` },
      signal: AbortSignal.any([signal, deadline.signal]),
    });
    if (response.ok && response.body !== null) return response.body;
    const error = errorFor(response.status, await response.text(), url);
    throw response.status >= 500 ? new GatewayUnavailable(error.message) : error;
  } finally {
    clearTimeout(timer);
  }
}

/** Sends one request to the gateway; the error for a failed connection says how to start or find one. */
export async function sendRequest(url: string, path: string, init: RequestInit = {}): Promise<Response> {
  const isRead = (init.method ?? "GET") === "GET";
  const deadlineMs = isRead ? DEADLINE_MS : WRITE_DEADLINE_MS;
  try {
    return await fetch(url + path, { ...init, signal: init.signal ?? AbortSignal.timeout(deadlineMs) });
  } catch (error) {
    if (error instanceof DOMException && error.name === "TimeoutError") {
      const fix = isRead ? "retry" : "the change may have been made, see gatehouse revisions";
      const message = `the gateway at ${url} did not respond within ${deadlineMs / 1000} seconds; ${fix}`;
      throw new GatewayUnavailable(message);
    }
    throw new GatewayUnavailable(
      `no gateway is reachable at ${url}; start one with "gatehouse serve", or give --url`,
    );
  }
}

function errorFor(status: number, text: string, url: string): Error {
  if (status === 401) {
    return new Error(
      `${url} did not accept the token; give --token, or the SERVER_SECRET_KEY that the server was started with`,
    );
  }
  const { success, data } = errorBodySchema.safeParse(parseJson(text));
  if (success) return new RejectedRequest(data.error, data.details, data.code);
  return new Error(
    `${url} responded ${status} without a Gatehouse error body; give the address of an Admin API with --url`,
  );
}

/** The operating system's user, for the history of changes. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown"; // the user of a container may have no passwd entry
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
