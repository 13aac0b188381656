// Applies a configuration document in one transaction: finds records by name, creates and updates them, and on request
// deletes those that the document does not contain.
import { validationError } from "../base/errors.ts";
import { apiKeyPrefix, hashApiKey, newApiKey } from "../base/ids.ts";
import { nextTurn } from "../base/yield-turns.ts";
import { apiKeyForm, gatewayForm, namesById, ruleForm } from "../model/document-export.ts";
import type { ConfigurationDocument, DocumentApiKey, DocumentGateway } from "../model/document.ts";
import type { Gateway } from "../model/gateway.ts";
import { withPluginIds } from "../model/plugin-config.ts";
import { omit } from "../model/record.ts";
import { ruleLabel, RuleNames } from "../model/rule-names.ts";
import type { Rule } from "../model/rule.ts";
import type { Service } from "../model/service.ts";
import { configurationWarnings } from "../snapshot/warnings/configuration-warnings.ts";
import type { ConfigurationWarning } from "../snapshot/warnings/warning.ts";
import type { GatewayParts, Kind, RecordOf, StoredApiKey } from "../kinds/kind.ts";
import type { Transaction } from "../store/store.ts";
import { countsKeys, putBudgets } from "./apply-budgets.ts";
import { putVirtualModels } from "./apply-models.ts";
import { putMcpServers, putServices, putUpstreams } from "./apply-services.ts";
import { ambiguousNameError, idOfName, matchKeys, matchRules } from "./document-matching.ts";
import { DocumentWriter } from "./document-writer.ts";
import { newChild } from "./record-fields.ts";
import { withOthers } from "./warnings.ts";

const PAGE = 1000;

/** The gateway that is being applied. */
interface Scope {
  readonly wanted: DocumentGateway;
  readonly gateway: Gateway;
  /** Path of the gateway in the document. */
  readonly place: string;
  /** The records before the document is applied; null for a new gateway. */
  readonly before: GatewayParts | null;
}

/** The rules that policies refer to: by name those of the document, by id also those before it. */
interface KnownRules {
  readonly names: RuleNames<Rule>;
  readonly byId: ReadonlyMap<string, Rule>;
}

interface PruneOptions {
  /** Delete the records of gateways of the document that the document does not contain. */
  readonly prune: boolean;
  /** Delete the gateways that the document does not contain, with all their records. */
  readonly pruneGateways: boolean;
}

export class DocumentApplication {
  readonly writer: DocumentWriter;
  /** About the gateways of the document as they are after it. */
  readonly warnings: ConfigurationWarning[] = [];
  readonly #transaction: Transaction;
  readonly #options: PruneOptions;

  constructor(transaction: Transaction, options: PruneOptions) {
    this.writer = new DocumentWriter(transaction);
    this.#transaction = transaction;
    this.#options = options;
  }

  async apply({ gateways, prices }: ConfigurationDocument): Promise<void> {
    const found: (Gateway | null)[] = [];
    for (const [index, { name }] of gateways.entries()) {
      const { records, count } = await this.#transaction.list("gateways", { name, limit: 1, offset: 0 });
      if (count > 1) throw ambiguousNameError(`gateways[${index}].name`, "gateways", name, count);
      found.push(records[0] ?? null);
    }
    // First, because subdomains and API keys are unique: a gateway of the document may take over those of a deleted one.
    if (this.#options.pruneGateways) await this.#removeGatewaysBut(gateways);
    await this.#freeSubdomains(gateways, found);
    for (const [index, gateway] of gateways.entries())
      await this.#applyGateway(gateway, found[index] ?? null, `gateways[${index}]`);
    if (prices !== undefined) await this.writer.putPrices(prices);
  }

  async #removeGatewaysBut(wanted: readonly DocumentGateway[]): Promise<void> {
    const all = await this.#all("gateways");
    for (const { id, name } of absentFrom(wanted, all)) await this.writer.removeGateway(id, name);
  }

  /** Releases subdomains that move from one gateway of the document to another: they are unique at any time. */
  async #freeSubdomains(
    wanted: readonly DocumentGateway[],
    found: readonly (Gateway | null)[],
  ): Promise<void> {
    for (const [index, gateway] of found.entries()) {
      const held = gateway?.subdomain ?? null;
      if (gateway === null || held === null || wanted[index]?.subdomain === held) continue;
      if (wanted.some(({ subdomain }) => subdomain === held))
        await this.#transaction.update("gateways", { ...gateway, subdomain: null });
    }
  }

  async #applyGateway(wanted: DocumentGateway, before: Gateway | null, place: string): Promise<void> {
    const gateway = await this.#putGateway(wanted, before, place);
    const parts = before === null ? null : await this.#transaction.gatewayParts(before.id);
    const scope: Scope = { wanted, gateway, place, before: parts };
    const knownRules = matchRules(wanted.rules, parts?.rules ?? [], place);
    const needsKeys = wanted.api_keys !== undefined || wanted.budgets.some(countsKeys);
    const knownKeys = before === null || !needsKeys ? [] : await this.#activeKeys(before.id);
    const upstreams = await putUpstreams(this.writer, scope);
    const mcp_servers = await putMcpServers(this.writer, scope);
    const services = await putServices(this.writer, scope, upstreams, mcp_servers);
    const rules = await this.#putRules(scope, services, knownRules);
    const models = await putVirtualModels(this.writer, scope, upstreams);
    const budgets = await putBudgets(this.writer, scope, knownKeys);
    const matchedKeys = matchKeys(wanted.api_keys ?? [], knownKeys, place);
    const keys = await this.#putKeys(scope, rules, matchedKeys);
    const applied = { gateway, upstreams, mcp_servers, services, rules, models, budgets };
    const after = withOthers(applied, this.#options.prune ? null : parts);
    await nextTurn();
    const isPruned = this.#options.prune && wanted.api_keys !== undefined;
    const counted = isPruned ? keys : [...knownKeys, ...keys];
    for (const warning of configurationWarnings(after, keys, counted)) this.warnings.push(warning);
    if (!this.#options.prune || parts === null) return;
    for (const key of isPruned ? knownKeys : [])
      if (!matchedKeys.includes(key)) await this.writer.revoke(wanted.name, key);
    await this.#pruneGateway(wanted, parts, knownRules);
  }

  #putGateway(wanted: DocumentGateway, before: Gateway | null, place: string): Promise<Gateway> {
    const { name } = wanted;
    const fields = omit(
      wanted,
      "upstreams",
      "mcp_servers",
      "services",
      "rules",
      "models",
      "budgets",
      "api_keys",
    );
    const required_plugins = withPluginIds(wanted.required_plugins, before?.required_plugins ?? [], () =>
      this.#transaction.newId(),
    );
    return this.writer.put({
      kind: "gateways",
      gateway: name,
      name,
      place,
      before,
      toForm: gatewayForm,
      build: (base) => ({ ...fields, required_plugins, ...base }),
    });
  }

  async #putRules(
    { wanted, gateway, place, before }: Scope,
    services: readonly Service[],
    knownRules: readonly (Rule | null)[],
  ): Promise<Rule[]> {
    const stored: Rule[] = [];
    const allServices = namesById([...services, ...(before?.services ?? [])]);
    for (const [index, { service, ...rule }] of wanted.rules.entries()) {
      const service_id = idOfName(services, service);
      stored.push(
        await this.writer.put({
          kind: "rules",
          gateway: wanted.name,
          name: ruleLabel(rule),
          place: `${place}.rules[${index}]`,
          before: knownRules[index] ?? null,
          toForm: (record) => ruleForm(record, allServices),
          build: (base) => newChild(base, gateway.id, { ...rule, service_id }),
        }),
      );
    }
    return stored;
  }

  async #putKeys(
    scope: Scope,
    rules: readonly Rule[],
    matchedKeys: readonly (StoredApiKey | null)[],
  ): Promise<StoredApiKey[]> {
    const stored: StoredApiKey[] = [];
    const allRules = [...(scope.before?.rules ?? []), ...rules];
    const known = { names: new RuleNames(rules), byId: new Map(allRules.map((rule) => [rule.id, rule])) };
    for (const [index, key] of (scope.wanted.api_keys ?? []).entries()) {
      const at = `${scope.place}.api_keys[${index}]`;
      stored.push(await this.#putKey(scope, key, at, matchedKeys[index] ?? null, known));
    }
    return stored;
  }

  async #putKey(
    { wanted: { name: gatewayName }, gateway }: Scope,
    wanted: DocumentApiKey,
    place: string,
    before: StoredApiKey | null,
    rules: KnownRules,
  ): Promise<StoredApiKey> {
    const { name, expires_at, labels, models, tools, key_sha256, prefix } = wanted;
    const isPast = expires_at !== null && Date.parse(expires_at) <= Date.now();
    // A key that is copied with its hash, or unchanged, may have expired; a new expiration must be in the future.
    if (isPast && key_sha256 === null && expires_at !== before?.expires_at)
      throw validationError([{ path: `${place}.expires_at`, message: "must be in the future" }]);
    const policies = wanted.policies.map((policy) => rules.names.matching(policy)[0]?.id ?? policy);
    const key = key_sha256 === null && before === null ? newApiKey() : null;
    // The stored prefix is valid as long as the hash does not change.
    const kept = before?.hash === (key_sha256 ?? before?.hash) ? before : null;
    const secret =
      key === null
        ? { hash: key_sha256 ?? before?.hash ?? "", prefix: prefix ?? kept?.prefix ?? "gw_" }
        : { hash: hashApiKey(key), prefix: apiKeyPrefix(key) };
    return this.writer.put({
      kind: "api_keys",
      gateway: gatewayName,
      name,
      place,
      before,
      key,
      toForm: (record) => apiKeyForm(record, rules.byId),
      build: (base) =>
        newChild(base, gateway.id, {
          name,
          subject_type: "gateway",
          subject: gateway.id,
          policies: [...new Set(policies)],
          expires_at,
          labels,
          models,
          tools,
          ...secret,
          active: true,
          last_used_at: before?.last_used_at ?? null,
        }),
    });
  }

  /** Deletes the records of a gateway that the document does not contain. */
  async #pruneGateway(
    { name: gateway, upstreams, mcp_servers, services, models, budgets }: DocumentGateway,
    before: GatewayParts,
    knownRules: readonly (Rule | null)[],
  ): Promise<void> {
    const keptRules = new Set(knownRules.map((rule) => rule?.id));
    const remove = async (
      kind: "budgets" | "models" | "services" | "mcp_servers" | "upstreams",
      wanted: readonly Named[],
    ) => {
      for (const { id, name } of absentFrom<Named & { readonly id: string }>(wanted, before[kind]))
        await this.writer.remove(kind, gateway, id, name);
    };
    await remove("budgets", budgets);
    await remove("models", models);
    // Rules refer to services and services to upstreams, so they are deleted in this order.
    for (const rule of before.rules)
      if (!keptRules.has(rule.id)) await this.writer.remove("rules", gateway, rule.id, ruleLabel(rule));
    await remove("services", services);
    await remove("mcp_servers", mcp_servers);
    await remove("upstreams", upstreams);
  }

  async #activeKeys(gatewayId: string): Promise<StoredApiKey[]> {
    return (await this.#all("api_keys", gatewayId)).filter(({ active }) => active);
  }

  async #all<K extends Kind>(kind: K, gatewayId?: string): Promise<RecordOf[K][]> {
    const all: RecordOf[K][] = [];
    for (;;) {
      const page = { gatewayId, limit: PAGE, offset: all.length };
      const { records } = await this.#transaction.list(kind, page);
      all.push(...records);
      if (records.length < PAGE) return all;
    }
  }
}

type Named = { readonly name: string };

function absentFrom<T extends Named>(wanted: readonly Named[], stored: readonly T[]): T[] {
  const names = new Set(wanted.map(({ name }) => name));
  return stored.filter(({ name }) => !names.has(name));
}
