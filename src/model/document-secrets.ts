// The references to environment variables that a document has in place of secrets.
import type { Budget } from "./budget.ts";
import type { McpServer } from "./mcp-server.ts";
import { HIDDEN, maskSecret } from "./secret-mask.ts";
import { secretsOf, type SecretPlace } from "./target-secrets.ts";
import type { Target } from "./target.ts";
import { formatPath } from "./validate.ts";
import { maskWebhook } from "./webhook-mask.ts";

/** An environment variable that a document refers to for a secret. */
export interface SecretVariable {
  readonly name: string;
  /** `gateway acme, upstream models, target 1 (openai)` */
  readonly place: string;
}

type WithSecrets = Pick<Target, "credentials" | "headers">;

interface GatewayWithSecrets {
  readonly name: string;
  readonly upstreams: readonly {
    readonly name: string;
    readonly targets: readonly (WithSecrets & Pick<Target, "provider">)[];
  }[];
  readonly mcp_servers: readonly (WithSecrets & Pick<McpServer, "name">)[];
  readonly budgets: readonly Pick<Budget, "name" | "webhook">[];
}

/** Returns a reference for each secret, by its path in the document, and the variables that the references use. */
export function secretReferences(gateways: readonly GatewayWithSecrets[]) {
  const found = new SecretReferences();
  for (const [gatewayIndex, gateway] of gateways.entries()) {
    const root = ["gateways", gatewayIndex];
    for (const [index, { name: budget, webhook }] of gateway.budgets.entries())
      if (webhook !== null && maskWebhook(webhook) !== webhook)
        found.addWebhook(gateway.name, budget, webhook, [...root, "budgets", index, "webhook"]);
    for (const [upstreamIndex, upstream] of gateway.upstreams.entries())
      for (const [index, target] of upstream.targets.entries())
        found.addSecrets(
          target,
          `gateway ${gateway.name}, upstream ${upstream.name}, target ${index + 1} (${target.provider})`,
          [gateway.name, upstream.name, target.provider],
          [...root, "upstreams", upstreamIndex, "targets", index],
        );
    for (const [index, server] of gateway.mcp_servers.entries())
      found.addSecrets(
        server,
        `gateway ${gateway.name}, MCP server ${server.name}`,
        [gateway.name, "mcp", server.name],
        [...root, "mcp_servers", index],
      );
  }
  return found;
}

class SecretReferences {
  readonly references = new Map<string, string>();
  readonly variables: SecretVariable[] = [];
  readonly #taken = new Set<string>();

  addWebhook(gateway: string, budget: string, webhook: string, path: readonly PropertyKey[]): void {
    const name = variableNamed([gateway, budget, "webhook"], this.#taken);
    this.variables.push({ name, place: `gateway ${gateway}, budget ${budget}, webhook` });
    this.references.set(formatPath(path), `\${${name}:-${maskWebhook(webhook)}}`);
  }

  /** `stem` is what the names of the variables start with, and `path` that of the record in the document. */
  addSecrets(
    record: WithSecrets,
    owner: string,
    stem: readonly string[],
    path: readonly PropertyKey[],
  ): void {
    for (const { value, place } of secretsOf(record)) {
      const name = variableFor(stem, place, this.#taken);
      this.variables.push({ name, place: [owner, ...labelOfPlace(place)].join(", ") });
      const field = place.header === null ? ["credentials", place.member ?? ""] : ["headers", place.header];
      this.references.set(formatPath([...path, ...field]), referenceTo(name, value));
    }
  }
}

function labelOfPlace({ header, member }: SecretPlace): string[] {
  if (header !== null) return [`header ${header}`];
  return member === null || member === "header_value" ? [] : [member];
}

/** Returns an unused variable name such as `ACME_MODELS_OPENAI_KEY` or `ACME_MODELS_AZURE_CLIENT_SECRET`. */
function variableFor(owner: readonly string[], { header, member }: SecretPlace, taken: Set<string>): string {
  const own = member === "header_value" || member === null ? [header ?? "", "KEY"] : [member];
  return variableNamed([...owner, ...own], taken);
}

function variableNamed(parts: readonly string[], taken: Set<string>): string {
  const words = parts.map((part) =>
    part
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, ""),
  );
  const stem = words
    .filter((word) => word !== "")
    .join("_")
    .replace(/_KEY_KEY$/, "_KEY")
    .replace(/^(?=[0-9])/, "_");
  let name = stem;
  for (let number = 2; taken.has(name); number++) name = `${stem}_${number}`;
  taken.add(name);
  return name;
}

/** The default of the reference is the mask: if the variable is not set, the stored credential is kept. */
function referenceTo(name: string, secret: string): string {
  const mask = maskSecret(secret);
  // The default value ends at the first closing brace.
  return `\${${name}:-${/[{}]/.test(mask) ? HIDDEN : mask}}`;
}
