// What an operator must not change, in whatever way: API keys and the secrets of targets and MCP servers. Checked on what a transaction has changed.
import { secretsOf } from "../model/target-secrets.ts";
import type { RecordChange, Transaction } from "../store/store.ts";
import { forbidden, type Identity } from "./identity.ts";

/** Throws 403 if the transaction has changed what the role must not change. Call it before the transaction commits. */
export function rejectForbiddenChanges(
  { role }: Identity,
  transaction: Pick<Transaction, "recordChanges">,
): void {
  if (role === "owner") return;
  for (const { before, after } of transaction.recordChanges()) {
    if (isActiveKey(before) || isActiveKey(after))
      throw forbidden(`This changes API keys, which needs the role owner; yours is ${role}.`);
    const stored = targetsOf(before);
    for (const target of targetsOf(after)) {
      const known = stored.find(({ id }) => id === target.id);
      if (isSameSecrets(known, target)) continue;
      const message = `This changes credentials, which needs the role owner; yours is ${role}.`;
      throw forbidden(message);
    }
  }
}

type ChangedRecord = RecordChange["before"];

/** A revoked key gives access to nothing; it is deleted together with its gateway. */
function isActiveKey(record: ChangedRecord): boolean {
  return record !== null && "hash" in record && record.active;
}

type Holder = Parameters<typeof secretsOf>[0] & { readonly id: string };

/** Returns what has secrets in a record: the targets of an upstream, or an MCP server. */
function targetsOf(record: ChangedRecord): readonly Holder[] {
  if (record === null) return [];
  if ("algorithm" in record) return record.targets;
  return "pin" in record ? [record] : [];
}

/** Compares records of this server, so its duration reveals no secret to a client. A new target has no secrets to keep. */
function isSameSecrets(before: Holder | undefined, after: Holder): boolean {
  const [stored, changed] = [before === undefined ? [] : secretsOf(before), secretsOf(after)];
  const asText = (secrets: typeof stored) =>
    JSON.stringify(secrets.map(({ place, value }) => [place.path.toLowerCase(), value]).sort());
  return asText(stored) === asText(changed);
}
