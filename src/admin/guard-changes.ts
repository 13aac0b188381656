// What an operator must not change, in whatever way: API keys, issuers of tokens that are used like them, and the secrets of targets and MCP servers.
// Checked on what a transaction has changed.
import type { Gateway } from "../model/gateway.ts";
import type { McpServer } from "../model/mcp-server.ts";
import { secretsOf } from "../model/target-secrets.ts";
import type { Target } from "../model/target.ts";
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
    if (after !== null && !Bun.deepEquals(issuersOf(before), issuersOf(after)))
      throw forbidden(
        `This changes jwt_issuers, whose tokens give access as API keys do, which needs the role owner; yours is ${role}.`,
      );
    const [stored, changed] = [targetsOf(before), targetsOf(after)];
    for (const [index, target] of changed.entries()) {
      if (isSameSecrets(predecessorOf(target, index, stored, changed), target)) continue;
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

function issuersOf(record: ChangedRecord): Gateway["jwt_issuers"] {
  return record !== null && "jwt_issuers" in record ? record.jwt_issuers : [];
}

type Holder = Target | McpServer;

/** Returns what has secrets in a record: the targets of an upstream, or an MCP server. */
function targetsOf(record: ChangedRecord): readonly Holder[] {
  if (record === null) return [];
  if ("algorithm" in record) return record.targets;
  return "pin" in record ? [record] : [];
}

/**
 * Returns the stored target that the target replaces. A target that is sent without its id gets a new one; it replaces the one at the same
 * index if both send their secrets to the same place. Otherwise leaving out the id would be a way to remove a credential.
 */
function predecessorOf(
  target: Holder,
  index: number,
  stored: readonly Holder[],
  changed: readonly Holder[],
): Holder | undefined {
  const known = stored.find(({ id }) => id === target.id);
  if (known !== undefined) return known;
  const replaced = stored[index];
  if (replaced === undefined || changed.some(({ id }) => id === replaced.id)) return undefined;
  return destinationOf(replaced) === destinationOf(target) ? replaced : undefined;
}

function destinationOf(holder: Holder): string {
  return "provider" in holder ? JSON.stringify([holder.provider, holder.base_url]) : holder.id;
}

/** Compares records of this server, so its duration reveals no secret to a client. A new target has no secrets to keep. */
function isSameSecrets(before: Holder | undefined, after: Holder): boolean {
  const [stored, changed] = [before === undefined ? [] : secretsOf(before), secretsOf(after)];
  const asText = (secrets: typeof stored) =>
    JSON.stringify(secrets.map(({ place, value }) => [place.path.toLowerCase(), value]).sort());
  return asText(stored) === asText(changed);
}
