// The Admin API as the commands use it: the address, the token, and every failure as one line that names the mend.
import { userInfo } from "node:os";
import type { ErrorDetail } from "../base/errors.ts";
import { mintToken, requireServerSecret } from "./mint-token.ts";
import { UsageError } from "./command.ts";

export interface AdminClientFlags {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

export interface AdminClient {
  readonly url: string;
  /** Paths are those below /api/v1. What comes back is not checked: it is the server's word. */
  get<T>(path: string): Promise<T>;
  /** The answer as it is, in the type that is asked for. */
  getText(path: string, accept: string): Promise<string>;
  post<T>(path: string, body: unknown): Promise<T>;
  delete(path: string): Promise<void>;
}

export const CLIENT_FLAGS = ["--url", "--token"] as const;

export const CLIENT_HELP = `  --url URL      the Admin API; default GATEHOUSE_URL, else http://127.0.0.1:8080
  --token TOKEN  an admin token; default GATEHOUSE_TOKEN, else one signed with SERVER_SECRET_KEY or the secret in DATA_DIR`;

const DEFAULT_URL = "http://127.0.0.1:8080";
const DEADLINE_MS = 30_000;
/** Long enough for one command, short enough to be of no use to anybody else. */
const TOKEN_SECONDS = 300;

/** What the Admin API refuses, in its own words. */
export class Refused extends Error {
  readonly details: readonly ErrorDetail[];

  constructor(sentence: string, details: readonly ErrorDetail[]) {
    super(sentence);
    this.name = "Refused";
    this.details = details;
  }
}

export async function adminClient(flags: AdminClientFlags): Promise<AdminClient> {
  const url = adminUrl(flags);
  const mend = "give --token or GATEHOUSE_TOKEN, ";
  const token =
    flags.token ??
    nonEmpty(process.env["GATEHOUSE_TOKEN"]) ??
    (await mintToken(requireServerSecret(mend), TOKEN_SECONDS, `cli:${userName()}`));
  const send = async (method: string, path: string, accept: string, body?: unknown): Promise<string> => {
    const response = await reach(url, `/api/v1${path}`, {
      method,
      headers: {
        Accept: accept,
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw refusal(response.status, text, url);
    return text;
  };
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const text = await send(method, path, "application/json", body);
    return text === "" ? null : (JSON.parse(text) as unknown);
  };
  return {
    url,
    get: <T>(path: string) => call("GET", path) as Promise<T>,
    getText: (path, accept) => send("GET", path, accept),
    post: <T>(path: string, body: unknown) => call("POST", path, body) as Promise<T>,
    delete: async (path) => {
      await call("DELETE", path);
    },
  };
}

export function adminUrl({ url }: AdminClientFlags): string {
  const given = url ?? nonEmpty(process.env["GATEHOUSE_URL"]) ?? DEFAULT_URL;
  if (!/^https?:\/\//.test(given) || !URL.canParse(given))
    throw new UsageError(`--url is "${given}"; give an address such as ${DEFAULT_URL}`);
  return given.replace(/\/+$/, "");
}

/** One request to the gateway; where there is none, a sentence that says so. */
export async function reach(url: string, path: string, init: RequestInit = {}): Promise<Response> {
  try {
    return await fetch(url + path, { ...init, signal: AbortSignal.timeout(DEADLINE_MS) });
  } catch {
    throw new Error(`no gateway answers at ${url}; start one with "gatehouse serve", or give --url`);
  }
}

function refusal(status: number, text: string, url: string): Error {
  if (status === 401) {
    return new Error(
      `${url} did not accept the token; give --token, or the SERVER_SECRET_KEY that the server was started with`,
    );
  }
  try {
    const { error, details = [] } = JSON.parse(text) as { error?: unknown; details?: ErrorDetail[] };
    if (typeof error === "string") return new Refused(error, details);
  } catch {
    // Not the Admin API, then.
  }
  return new Error(
    `${url} answered ${status}, which is not the word of a Gatehouse Admin API; give its address with --url`,
  );
}

/** Who is at the terminal, for the history of changes. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown"; // a container's user may have no entry
  }
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
