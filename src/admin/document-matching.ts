// Finds the stored records that the entries of a document refer to. A document identifies records by name.
import { validationError, type GatehouseError } from "../base/errors.ts";
import { ruleIdentity, ruleLabel } from "../model/rule-names.ts";
import type { DocumentApiKey, DocumentGateway } from "../model/document.ts";
import type { Rule } from "../model/rule.ts";
import type { StoredApiKey } from "../kinds/kind.ts";

/** Returns the record with this name, or null; throws if there are several. `path` is the place in the document. */
export function findByName<T extends { readonly name: string }>(
  records: readonly T[],
  name: string,
  plural: string,
  path: string,
): T | null {
  const found = records.filter((record) => record.name === name);
  if (found.length > 1) throw ambiguousNameError(path, plural, name, found.length);
  return found[0] ?? null;
}

/** Returns an empty text if no record has the name. References of a document were validated before. */
export function idOfName(
  records: readonly { readonly name: string; readonly id: string }[],
  name: string,
): string {
  return records.find((record) => record.name === name)?.id ?? "";
}

export function ambiguousNameError(
  path: string,
  plural: string,
  name: string,
  count: number,
): GatehouseError {
  const message = `there are ${count} ${plural} named "${name}"; rename all but one of them first`;
  return validationError([{ path, message }]);
}

/**
 * Returns the stored rule for each rule of the document: the one with the same name, or for a rule without a name the one
 * that matches the same requests. A rule that gets a name in the document replaces the stored rule without one.
 */
export function matchRules(
  wanted: DocumentGateway["rules"],
  stored: readonly Rule[],
  place: string,
): (Rule | null)[] {
  const byIdentity = Map.groupBy(stored, ruleIdentity);
  const matched = wanted.map((rule, index) => {
    const found = byIdentity.get(ruleIdentity(rule)) ?? [];
    if (found.length > 1)
      throw ambiguousNameError(`${place}.rules[${index}]`, "rules", ruleLabel(rule), found.length);
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

/**
 * Returns the stored key for each key of the document: the one with the same name, or of several keys with that name, stored or
 * in the document, the one with the same hash.
 */
export function matchKeys(
  wanted: readonly DocumentApiKey[],
  stored: readonly StoredApiKey[],
  place: string,
): (StoredApiKey | null)[] {
  const byName = Map.groupBy(stored, ({ name }) => name);
  const wantedByName = Map.groupBy(wanted, ({ name }) => name);
  return wanted.map(({ name, key_sha256 }, index) => {
    const found = byName.get(name) ?? [];
    const isOnlyWanted = wantedByName.get(name)?.length === 1;
    if (isOnlyWanted && found.length <= 1) return found[0] ?? null;
    const byHash = new Map(found.map((key) => [key.hash, key]));
    const same = byHash.get(key_sha256 ?? "") ?? null;
    if (same === null && isOnlyWanted)
      throw ambiguousNameError(`${place}.api_keys[${index}].name`, "active API keys", name, found.length);
    return same;
  });
}
