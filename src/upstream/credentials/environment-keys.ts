// The keys of the role that the gateway runs with, from the sources of the AWS SDKs in their order: environment variables, web
// identity, the container's credentials endpoint, the instance's metadata service. Their addresses are set by the environment and
// are link-local, so that they are not fetched over the connections to providers, which reject such addresses.
import { readFile } from "node:fs/promises";
import type { Clock } from "../../base/clock.ts";
import { parseObject } from "../../base/json.ts";
import { CredentialError } from "../request-credential.ts";
import type { FetchedValue } from "./refreshed-value.ts";
import type { AwsKeys } from "./sigv4.ts";
import type { TokenClient } from "./token-client.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

const REQUEST_MS = 5000;
const MAX_RESPONSE_CHARACTERS = 64 * 1024;
/** Environment variables do not change, and keys without an expiration are read again after this time. */
const DEFAULT_LIFETIME_MS = 3_600_000;
const CONTAINER_HOST = "http://169.254.170.2";
const CONTAINER_ADDRESSES: ReadonlySet<string> = new Set([
  "169.254.170.2",
  "169.254.170.23",
  "[fd00:ec2::23]",
]);
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
const METADATA_HOST = "http://169.254.169.254";
const METADATA_TOKEN_SECONDS = 300;

export class EnvironmentKeys {
  readonly #environment: Environment;
  readonly #client: TokenClient;
  readonly #clock: Clock;

  constructor(environment: Environment, client: TokenClient, clock: Clock) {
    this.#environment = environment;
    this.#client = client;
    this.#clock = clock;
  }

  /** Rejects with a CredentialError. */
  async fetch(): Promise<FetchedValue<AwsKeys>> {
    const accessKeyId = this.#variable("AWS_ACCESS_KEY_ID");
    const secretAccessKey = this.#variable("AWS_SECRET_ACCESS_KEY");
    if (accessKeyId !== null && secretAccessKey !== null) {
      const sessionToken = this.#variable("AWS_SESSION_TOKEN");
      return { value: { accessKeyId, secretAccessKey, sessionToken }, lifetimeMs: DEFAULT_LIFETIME_MS };
    }
    const tokenFile = this.#variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    const role = this.#variable("AWS_ROLE_ARN");
    if (tokenFile !== null && role !== null) return this.#fromWebIdentity(tokenFile, role);
    const container = this.#containerUrl();
    if (container !== null) return this.#fromContainer(container);
    if (this.#variable("AWS_EC2_METADATA_DISABLED")?.toLowerCase() === "true")
      throw new CredentialError("the environment of the gateway has no AWS credentials");
    return this.#fromMetadata();
  }

  /** An empty variable counts as unset. */
  #variable(name: string): string | null {
    const value = this.#environment[name]?.trim();
    return value === undefined || value === "" ? null : value;
  }

  async #fromWebIdentity(tokenFile: string, role: string): Promise<FetchedValue<AwsKeys>> {
    const region = this.#variable("AWS_REGION") ?? this.#variable("AWS_DEFAULT_REGION");
    const host = region === null ? "sts.amazonaws.com" : `sts.${region}.amazonaws.com`;
    const url = this.#variable("AWS_ENDPOINT_URL_STS") ?? `https://${host}`;
    const { status, text } = await this.#client.post(url, {
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: role,
      RoleSessionName: this.#variable("AWS_ROLE_SESSION_NAME") ?? "gatehouse",
      WebIdentityToken: await readToken(tokenFile),
    });
    if (status !== 200) throw new CredentialError(`AWS STS responded with status ${status}`);
    const element = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1];
    return this.#keysIn({
      AccessKeyId: element("AccessKeyId"),
      SecretAccessKey: element("SecretAccessKey"),
      Token: element("SessionToken"),
      Expiration: element("Expiration"),
    });
  }

  /** Plain HTTP is used only for loopback and the addresses of ECS and EKS, as in the SDKs. */
  #containerUrl(): string | null {
    const relative = this.#variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (relative !== null) return CONTAINER_HOST + relative;
    const full = this.#variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (full === null) return null;
    if (!URL.canParse(full)) throw new CredentialError("AWS_CONTAINER_CREDENTIALS_FULL_URI is not a URL");
    const { protocol, hostname } = new URL(full);
    const isLocal = CONTAINER_ADDRESSES.has(hostname) || LOOPBACK.test(hostname);
    if (protocol === "https:" || (protocol === "http:" && isLocal)) return full;
    throw new CredentialError("AWS_CONTAINER_CREDENTIALS_FULL_URI is neither HTTPS nor a container address");
  }

  async #fromContainer(url: string): Promise<FetchedValue<AwsKeys>> {
    const file = this.#variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const token = file === null ? this.#variable("AWS_CONTAINER_AUTHORIZATION_TOKEN") : await readToken(file);
    const headers: Record<string, string> = token === null ? {} : { Authorization: token };
    return this.#keysIn(parseObject(await this.#read(url, "GET", headers)) ?? {});
  }

  /** Version 2 of the instance metadata service only: it needs a token for each session. */
  async #fromMetadata(): Promise<FetchedValue<AwsKeys>> {
    const host = (this.#variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? METADATA_HOST).replace(/\/+$/, "");
    const token = await this.#read(`${host}/latest/api/token`, "PUT", {
      "X-aws-ec2-metadata-token-ttl-seconds": String(METADATA_TOKEN_SECONDS),
    });
    const headers = { "X-aws-ec2-metadata-token": token.trim() };
    const roles = `${host}/latest/meta-data/iam/security-credentials/`;
    const [role = ""] = (await this.#read(roles, "GET", headers)).trim().split("\n");
    return this.#keysIn(
      parseObject(await this.#read(roles + encodeURIComponent(role), "GET", headers)) ?? {},
    );
  }

  #keysIn(fields: Readonly<Record<string, unknown>>): FetchedValue<AwsKeys> {
    const { AccessKeyId, SecretAccessKey, Token = null, Expiration } = fields;
    if (typeof AccessKeyId !== "string" || typeof SecretAccessKey !== "string")
      throw new CredentialError("the environment of the gateway returned no AWS credentials");
    const sessionToken = textOrNull(Token);
    const expiresAt = typeof Expiration === "string" ? Date.parse(Expiration) : NaN;
    const lifetimeMs = Number.isNaN(expiresAt) ? DEFAULT_LIFETIME_MS : expiresAt - this.#clock.unixNow();
    if (lifetimeMs <= 0)
      throw new CredentialError("the environment of the gateway returned AWS credentials that have expired");
    return {
      value: { accessKeyId: AccessKeyId, secretAccessKey: SecretAccessKey, sessionToken },
      lifetimeMs,
    };
  }

  async #read(url: string, method: string, headers: Readonly<Record<string, string>>): Promise<string> {
    const abort = new AbortController();
    const timer = this.#clock.setTimeout(() => abort.abort(), REQUEST_MS);
    try {
      const response = await fetch(url, { method, headers, signal: abort.signal, redirect: "manual" });
      if (response.status !== 200) {
        await response.body?.cancel();
        throw new CredentialError(`the AWS credentials endpoint responded with status ${response.status}`);
      }
      return await readBounded(response);
    } catch (error) {
      if (error instanceof CredentialError) throw error;
      throw new CredentialError("the AWS credentials endpoint could not be reached", error);
    } finally {
      timer.close();
    }
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

async function readBounded({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  const chunks: AsyncIterable<Uint8Array> | null = body;
  if (chunks === null) return text;
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_RESPONSE_CHARACTERS)
      throw new CredentialError("the AWS credentials endpoint sent a too large response");
  }
  return text;
}

/** The file is read each time, because it is replaced before its token expires. */
async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new CredentialError("the token file of the environment's AWS role cannot be read", error);
  }
}
