// The secrets of a target: those of its credentials, and the headers that carry one by their name. Masks them, and says where they are sent.
import {
  changedCredentialDestination,
  mapCredentialSecrets,
  type SecretMember,
} from "./credential-secrets.ts";
import { providerNamed } from "../formats/providers.ts";
import { maskSecret } from "./secret-mask.ts";
import type { Target } from "./target.ts";

/** A header is secret if its name contains one of these, without `-` and `_`, … */
const SECRET_TEXTS =
  /authorization|cookie|token|secret|password|passwd|passphrase|credential|apikey|accesskey|privatekey/;
/** … or has one of these between `-` and `_`, as in `X-Auth` and `Ocp-Apim-Subscription-Key`. */
const SECRET_WORDS: ReadonlySet<string> = new Set(["auth", "key", "jwt", "session"]);

export function isSecretHeader(name: string): boolean {
  const words = name.toLowerCase().split(/[-_]/);
  return SECRET_TEXTS.test(words.join("")) || words.some((word) => SECRET_WORDS.has(word));
}

type SecretFields = Pick<Target, "credentials" | "headers">;

/** Where a secret is located in its target. */
export interface SecretPlace {
  /** Relative to the target: `credentials.header_value` or `headers.X-Api-Key`. */
  readonly path: string;
  /** The name of the secret header; null for a member of `credentials`. */
  readonly header: string | null;
  /** The secret member of `credentials`; null for a header. */
  readonly member: SecretMember | null;
}

interface MappedSecrets<Value> {
  readonly headers: Record<string, string | Value>;
  readonly credentials: ReturnType<typeof mapCredentialSecrets<Value>> | null;
}

/** Returns headers and credentials with `map` applied to each secret. */
export function mapSecrets<Value>(
  { headers, credentials }: SecretFields,
  map: (value: string, place: SecretPlace) => Value,
): MappedSecrets<Value> {
  const mapped: Record<string, string | Value> = {};
  for (const [name, value] of Object.entries(headers))
    mapped[name] = isSecretHeader(name)
      ? map(value, { path: `headers.${name}`, header: name, member: null })
      : value;
  if (credentials === null) return { headers: mapped, credentials };
  const mapMember = (value: string, member: SecretMember) =>
    map(value, { path: `credentials.${member}`, header: null, member });
  return { headers: mapped, credentials: mapCredentialSecrets(credentials, mapMember) };
}

/** Returns all secrets with their places. */
export function secretsOf(target: SecretFields): { readonly value: string; readonly place: SecretPlace }[] {
  const secrets: { value: string; place: SecretPlace }[] = [];
  mapSecrets(target, (value, place) => secrets.push({ value, place }));
  return secrets;
}

/** Returns the secret at the same place of another version of the target. Header names are case-insensitive. */
export function secretAt(target: SecretFields, { path, header }: SecretPlace): string | undefined {
  if (header === null) return secretsOf(target).find(({ place }) => place.path === path)?.value;
  return isSecretHeader(header) ? headerOf(target, header) : undefined;
}

function headerOf({ headers }: Pick<Target, "headers">, name: string): string | undefined {
  return Object.entries(headers).find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];
}

export function maskTarget<T extends SecretFields>(target: T): T {
  return { ...target, ...mapSecrets(target, maskSecret) };
}

type TargetDestination = Pick<Target, "provider" | "base_url" | "headers" | "credentials">;
/** An MCP server. */
type ServerDestination = SecretFields & { readonly url: string };

/** What decides where secrets are sent. */
export type SecretDestination = TargetDestination | ServerDestination;

/**
 * Returns the first field with which `after` sends its secrets elsewhere than `before`; null if there is none. Paths are always
 * below the base URL, so `path` is not such a field. A front end that serves many sites selects one of them by `Host`.
 */
export function changedDestination(before: SecretDestination, after: SecretDestination): string | null {
  const field = changedAddress(before, after);
  if (field !== null) return field;
  if (headerOf(before, "host") !== headerOf(after, "host")) return "headers.host";
  if (before.credentials === null || after.credentials === null) return null;
  const member = changedCredentialDestination(before.credentials, after.credentials);
  return member === null ? null : `credentials.${member}`;
}

function changedAddress(before: SecretDestination, after: SecretDestination): string | null {
  if ("url" in before || "url" in after)
    return "url" in before && "url" in after && before.url === after.url ? null : "url";
  if (before.provider !== after.provider) return "provider";
  return baseUrlOf(before) === baseUrlOf(after) ? null : "base_url";
}

function baseUrlOf({ base_url, provider }: TargetDestination): string | null {
  return base_url ?? providerNamed(provider).base_url;
}
