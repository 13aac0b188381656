// Brings the configuration to what a document says, inside one transaction: records are found by their names, created,
// changed, and where asked for deleted.
import { GatehouseError, validationError } from "../base/errors.ts";
import { apiKeyPrefix, hashApiKey, newApiKey, newId } from "../base/ids.ts";
import { apiKeyForm, gatewayForm, ruleForm, serviceForm, upstreamForm } from "../model/document-export.ts";
import { ruleIdentity, ruleLabel, rulesMeant } from "../model/document-links.ts";
import type { ConfigurationDocument, DocumentApiKey, DocumentGateway } from "../model/document.ts";
import type { Gateway } from "../model/gateway.ts";
import { withPluginIds } from "../model/plugin-config.ts";
import { diffRecords, hideCredentials, type FieldChange } from "../model/record-diff.ts";
import type { Rule } from "../model/rule.ts";
import type { Upstream } from "../model/upstream.ts";
import type { GatewayParts, Kind, RecordOf, StoredApiKey, Transaction } from "../store/store.ts";
import { withTargetIds } from "./document-targets.ts";
import { timeOfChange } from "./record-fields.ts";
import { upstreams as upstreamResource } from "./routes/upstreams.ts";

export interface AppliedChange {
  readonly action: "create" | "update" | "delete" | "none";
  readonly resource: "gateway" | "upstream" | "service" | "rule" | "api_key";
  readonly gateway: string;
  readonly name: string;
  readonly diff: readonly FieldChange[];
  /** The key itself, of an API key that was made without a hash. */
  readonly key?: string;
}

type AppliedKind = Exclude<Kind, "blocks">;
type Times = { readonly id: string; readonly created_at: string; readonly updated_at: string };

/** By chance alone, and so nothing to tell. */
const OF_A_NEW_KEY: readonly string[] = ["key_sha256", "prefix"];
const PAGE = 1000;

export class DocumentApplication {
  readonly changes: AppliedChange[] = [];
  readonly #transaction: Transaction;
  readonly #prune: boolean;
  /** Where a record stands in the document, for a fault that is found when everything is compiled. */
  readonly #places = new Map<string, string>();

  constructor(transaction: Transaction, options: { readonly prune: boolean }) {
    this.#transaction = transaction;
    this.#prune = options.prune;
  }

  placeOf(id: string): string | undefined {
    return this.#places.get(id);
  }

  async apply({ gateways }: ConfigurationDocument): Promise<void> {
    const found: (Gateway | null)[] = [];
    for (const [index, { name }] of gateways.entries()) {
      const { records, count } = await this.#transaction.list("gateways", { name, limit: 1, offset: 0 });
      if (count > 1) throw ambiguous(`gateways[${index}].name`, "gateways", name, count);
      found.push(records[0] ?? null);
    }
    await this.#freeSubdomains(gateways, found);
    for (const [index, gateway] of gateways.entries())
      await this.#applyGateway(gateway, found[index] ?? null, `gateways[${index}]`);
  }

  /** A subdomain that goes from one gateway of the document to another must be free before it is taken. */
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
    const { upstreams, services, rules, api_keys, ...fields } = wanted;
    const plugins = before?.required_plugins ?? [];
    const gateway = await this.#put(
      "gateways",
      wanted.name,
      wanted.name,
      place,
      before,
      gatewayForm,
      (times) => ({
        ...fields,
        required_plugins: withPluginIds(fields.required_plugins, plugins, newId),
        ...times,
      }),
    );
    const parts = before === null ? null : await this.#transaction.gatewayParts(before.id);
    const there = parts ?? { gateway, upstreams: [], services: [], rules: [] };
    const owner = { gateway_id: gateway.id };

    const upstreamsNow = new Map<string, Upstream>();
    for (const [index, upstream] of upstreams.entries()) {
      const at = `${place}.upstreams[${index}]`;
      const known = theOne(there.upstreams, upstream.name, "upstreams", `${at}.name`);
      const sent = { ...upstream, targets: withTargetIds(upstream.targets, known?.targets ?? []) };
      const form = (record: Upstream) => hideCredentials(upstreamForm(record) as unknown as Upstream);
      const put = await this.#put("upstreams", wanted.name, upstream.name, at, known, form, (times) => ({
        ...upstreamResource.toStored(sent, known),
        ...owner,
        ...times,
      }));
      upstreamsNow.set(upstream.name, put);
    }

    const servicesNow = new Map<string, RecordOf["services"]>();
    const allUpstreams = [...upstreamsNow.values(), ...there.upstreams];
    for (const [index, { upstream, ...service }] of services.entries()) {
      const at = `${place}.services[${index}]`;
      const known = theOne(there.services, service.name, "services", `${at}.name`);
      const form = (record: RecordOf["services"]) => serviceForm(record, allUpstreams);
      const upstream_id = upstreamsNow.get(upstream)?.id ?? "";
      const make = (times: Times) => ({ ...service, upstream_id, ...owner, ...times });
      servicesNow.set(
        service.name,
        await this.#put("services", wanted.name, service.name, at, known, form, make),
      );
    }

    const rulesNow: Rule[] = [];
    const allServices = [...servicesNow.values(), ...there.services];
    const knownRules = matchRules(rules, there.rules, place);
    for (const [index, { service, ...rule }] of rules.entries()) {
      const at = `${place}.rules[${index}]`;
      const form = (record: Rule) => ruleForm(record, allServices);
      const service_id = servicesNow.get(service)?.id ?? "";
      const make = (times: Times) => ({ ...rule, service_id, ...owner, ...times });
      const known = knownRules[index] ?? null;
      rulesNow.push(await this.#put("rules", wanted.name, ruleLabel(rule), at, known, form, make));
    }

    const keysThere = api_keys === undefined || before === null ? [] : await this.#activeKeys(before.id);
    const allRules = [...rulesNow, ...there.rules];
    for (const [index, key] of (api_keys ?? []).entries()) {
      const at = `${place}.api_keys[${index}]`;
      const known = theOne(keysThere, key.name, "active API keys", `${at}.name`);
      await this.#putKey(key, wanted.name, gateway.id, at, known, rulesNow, allRules);
    }
    if (this.#prune && before !== null) await this.#pruneGateway(wanted, there, knownRules, keysThere);
  }

  async #putKey(
    wanted: DocumentApiKey,
    gatewayName: string,
    subject: string,
    place: string,
    before: StoredApiKey | null,
    rulesNow: readonly Rule[],
    allRules: readonly Rule[],
  ): Promise<void> {
    const { key_sha256, prefix, ...fields } = wanted;
    const isPast = fields.expires_at !== null && Date.parse(fields.expires_at) <= Date.now();
    // A key that is carried over may have expired; a time that is newly given has to lie ahead.
    if (isPast && key_sha256 === null && fields.expires_at !== before?.expires_at)
      throw validationError([{ path: `${place}.expires_at`, message: "must lie in the future" }]);
    const policies = wanted.policies.map((policy) => rulesMeant(rulesNow, policy)[0]?.id ?? policy);
    const fresh = key_sha256 === null && before === null ? newApiKey() : null;
    const kept = before?.hash === (key_sha256 ?? before?.hash) ? before : null;
    const secret =
      fresh === null
        ? { hash: key_sha256 ?? before?.hash ?? "", prefix: prefix ?? kept?.prefix ?? "gw_" }
        : { hash: hashApiKey(fresh), prefix: apiKeyPrefix(fresh) };
    const form = (record: StoredApiKey) => apiKeyForm(record, allRules);
    const make = (times: Times) => ({
      ...fields,
      subject_type: "gateway" as const,
      subject,
      policies: [...new Set(policies)],
      gateway_id: subject,
      ...secret,
      active: true,
      last_used_at: before?.last_used_at ?? null,
      ...times,
    });
    await this.#put("api_keys", gatewayName, wanted.name, place, before, form, make, fresh);
  }

  /** Writes a record where it is new or differs, and tells what differs. */
  async #put<K extends AppliedKind>(
    kind: K,
    gateway: string,
    name: string,
    place: string,
    before: RecordOf[K] | null,
    form: (record: RecordOf[K]) => object,
    make: (times: Times) => RecordOf[K],
    key: string | null = null,
  ): Promise<RecordOf[K]> {
    const now = new Date().toISOString();
    const times =
      before === null
        ? { id: newId(), created_at: now, updated_at: now }
        : { id: before.id, created_at: before.created_at, updated_at: timeOfChange(before) };
    const record = await atPlace(place, () => Promise.resolve(make(times)));
    this.#places.set(record.id, place);
    const told = diffRecords(before === null ? null : form(before), form(record));
    const diff = key === null ? told : told.filter(({ path }) => !OF_A_NEW_KEY.includes(path));
    const action = before === null ? "create" : diff.length === 0 ? "none" : "update";
    if (action === "create") await atPlace(place, () => this.#transaction.insert(kind, record));
    if (action === "update") await atPlace(place, () => this.#transaction.update(kind, record));
    this.changes.push({
      action,
      resource: resourceOf(kind),
      gateway,
      name,
      diff,
      ...(key !== null && { key }),
    });
    return action === "none" && before !== null ? before : record;
  }

  /** Deletes what the document does not name. Keys are revoked, as ever, and only where the document speaks of keys. */
  async #pruneGateway(
    { name: gateway, upstreams, services, api_keys }: DocumentGateway,
    there: GatewayParts,
    knownRules: readonly (Rule | null)[],
    keysThere: readonly StoredApiKey[],
  ): Promise<void> {
    const isNamed = (list: readonly { name: string }[]) => (record: { name: string }) =>
      list.some(({ name }) => name === record.name);
    const namesKey = isNamed(api_keys ?? []);
    for (const key of keysThere.filter((each) => !namesKey(each))) {
      await this.#transaction.update("api_keys", { ...key, active: false, updated_at: timeOfChange(key) });
      const diff = [{ path: "active", before: true, after: false }];
      this.changes.push({ action: "delete", resource: "api_key", gateway, name: key.name, diff });
    }
    const remove = async (kind: "rules" | "services" | "upstreams", id: string, name: string) => {
      await this.#transaction.remove(kind, id);
      this.changes.push({ action: "delete", resource: resourceOf(kind), gateway, name, diff: [] });
    };
    const kept = new Set(knownRules.map((rule) => rule?.id));
    for (const rule of there.rules) if (!kept.has(rule.id)) await remove("rules", rule.id, ruleLabel(rule));
    const [namesService, namesUpstream] = [isNamed(services), isNamed(upstreams)];
    for (const each of there.services) if (!namesService(each)) await remove("services", each.id, each.name);
    for (const each of there.upstreams)
      if (!namesUpstream(each)) await remove("upstreams", each.id, each.name);
  }

  async #activeKeys(gatewayId: string): Promise<StoredApiKey[]> {
    const keys: StoredApiKey[] = [];
    for (let offset = 0; ; offset += PAGE) {
      const { records } = await this.#transaction.list("api_keys", { gatewayId, limit: PAGE, offset });
      keys.push(...records.filter(({ active }) => active));
      if (records.length < PAGE) return keys;
    }
  }
}

function resourceOf(kind: AppliedKind): AppliedChange["resource"] {
  return kind.slice(0, -1) as AppliedChange["resource"];
}

function theOne<T extends { readonly name: string }>(
  records: readonly T[],
  name: string,
  what: string,
  path: string,
): T | null {
  const found = records.filter((record) => record.name === name);
  if (found.length > 1) throw ambiguous(path, what, name, found.length);
  return found[0] ?? null;
}

function ambiguous(path: string, what: string, name: string, count: number): GatehouseError {
  const message = `there are ${count} ${what} called "${name}"; rename all but one of them first`;
  return validationError([{ path, message }]);
}

/** By name, or without one by what they match; a rule that is given a name continues the one it had been without. */
function matchRules(
  wanted: DocumentGateway["rules"],
  there: readonly Rule[],
  place: string,
): (Rule | null)[] {
  const byIdentity = Map.groupBy(there, ruleIdentity);
  const matched = wanted.map((rule, index) => {
    const found = byIdentity.get(ruleIdentity(rule)) ?? [];
    if (found.length > 1) throw ambiguous(`${place}.rules[${index}]`, "rules", ruleLabel(rule), found.length);
    return found[0] ?? null;
  });
  const taken = new Set(matched);
  return matched.map((found, index) => {
    const rule = wanted[index];
    if (found !== null || rule === undefined || rule.name === null) return found;
    const [unnamed] = byIdentity.get(ruleIdentity({ ...rule, name: null })) ?? [];
    if (unnamed === undefined || taken.has(unnamed)) return null;
    taken.add(unnamed);
    return unnamed;
  });
}

/** A fault of a record's field is told at the record's place in the document. */
async function atPlace<T>(place: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const isField =
      error instanceof GatehouseError && ["validation_failed", "duplicate"].includes(error.code);
    if (!isField || error.details === undefined) throw error;
    const details = error.details.map(({ path, message }) => ({ path: `${place}.${path}`, message }));
    if (error.code === "validation_failed") throw validationError(details);
    throw new GatehouseError(error.code, `${place}.${error.message}`, { details });
  }
}
