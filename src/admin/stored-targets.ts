// Turns the targets of a request into stored targets: they keep their ids, and a masked credential keeps its value.
import { validationError, type ErrorDetail } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import {
  looksMasked,
  maskSecret,
  type Credentials,
  type Target,
  type TargetFields,
} from "../model/target.ts";
import type { Upstream } from "../model/upstream.ts";

/** `before` is the stored upstream; null for a new one. */
export function toStoredTargets(sent: readonly TargetFields[], before: Upstream | null): Target[] {
  const problems: ErrorDetail[] = [];
  const ids = new Set<string>();
  const targets = sent.map(({ id: sentId, ...target }, index): Target => {
    const path = `targets[${index}]`;
    const known = before?.targets.find((each) => each.id === sentId);
    if (sentId !== undefined && ids.has(sentId))
      problems.push({ path: `${path}.id`, message: "is given twice" });
    const id = known?.id ?? newId();
    ids.add(id);
    const { credentials } = target;
    if (credentials === null) return { id, ...target };
    const kept = keptCredential(credentials, target.provider, known, before?.targets[index]);
    if (kept === null && looksMasked(credentials.header_value)) {
      const message = "is a masked value, and no stored credential matches it; send the credential itself";
      problems.push({ path: `${path}.credentials.header_value`, message });
    }
    return { id, ...target, credentials: { ...credentials, header_value: kept ?? credentials.header_value } };
  });
  if (problems.length > 0) throw validationError(problems);
  return targets;
}

/**
 * Returns the stored credential that a masked value refers to: the one of the target with the same id, or, if the client
 * left out the ids, of the target at the same index for the same provider and header. All short secrets have the same
 * mask, so without these conditions a credential could move to another target.
 */
function keptCredential(
  sent: Credentials,
  provider: string,
  known: Target | undefined,
  atSameIndex: Target | undefined,
): string | null {
  const isAlike =
    atSameIndex?.provider === provider && atSameIndex.credentials?.header_name === sent.header_name;
  const stored = (known ?? (isAlike ? atSameIndex : undefined))?.credentials?.header_value;
  return stored !== undefined && sent.header_value === maskSecret(stored) ? stored : null;
}
