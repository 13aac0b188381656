// The Admin API as the commands use it: the address, the token, and every failure as one line that names the mend.
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

export async function adminClient(flags: AdminClientFlags): Promise<AdminClient> {
  const url = adminUrl(flags);
  const mend = "give --token or GATEHOUSE_TOKEN, ";
  const token =
    flags.token ??
    nonEmpty(process.env["GATEHOUSE_TOKEN"]) ??
    (await mintToken(requireServerSecret(mend), TOKEN_SECONDS));
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await reach(url, `/api/v1${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { "Content-Type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(describeRefusal(response.status, text, url));
    return text === "" ? null : (JSON.parse(text) as unknown);
  };
  return {
    url,
    get: <T>(path: string) => call("GET", path) as Promise<T>,
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

function describeRefusal(status: number, text: string, url: string): string {
  if (status === 401) {
    return `${url} did not accept the token; give --token, or the SERVER_SECRET_KEY that the server was started with`;
  }
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (typeof error === "string") return error;
  } catch {
    // Not the Admin API, then.
  }
  return `${url} answered ${status}, which is not the word of a Gatehouse Admin API; give its address with --url`;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
