// Turns the targets of a request into stored targets: they keep their ids, and a masked secret keeps its value as long as it is
// sent to the same place.
import { credentialRequiredError, validationError, type ErrorDetail } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import {
  changedDestination,
  mapSecrets,
  secretAt,
  secretsOf,
  type SecretPlace,
} from "../model/target-secrets.ts";
import { looksMasked, maskSecret } from "../model/secret-mask.ts";
import type { Target, TargetFields } from "../model/target.ts";
import type { Upstream } from "../model/upstream.ts";

/** `before` is the stored upstream; null for a new one. `pathOf` returns where the body has a target, for error messages. */
export function toStoredTargets(
  sent: readonly TargetFields[],
  before: Upstream | null,
  pathOf: (index: number) => string = (index) => `targets[${index}]`,
): Target[] {
  const problems: ErrorDetail[] = [];
  const required: ErrorDetail[] = [];
  const ids = new Set<string>();
  const targets = sent.map(({ id: sentId, ...target }, index): Target => {
    const path = pathOf(index);
    const known = before?.targets.find((each) => each.id === sentId);
    if (sentId !== undefined && ids.has(sentId))
      problems.push({ path: `${path}.id`, message: "is given twice" });
    const id = known?.id ?? newId();
    ids.add(id);
    // Without an id, a mask refers to the target at the same index.
    const stored = known ?? before?.targets[index];
    const secrets = mapSecrets(target, (value, place) => {
      const kept = findKept(value, place, target, stored, before);
      const at = `${path}.${place.path}`;
      const subject = `target ${index + 1} (${target.provider})`;
      if ("reason" in kept) required.push({ path: at, message: requiredMessage(subject, kept.reason) });
      else if (kept.value === null && looksMasked(value))
        problems.push({ path: at, message: UNKNOWN_MASK_MESSAGE });
      return ("value" in kept ? kept.value : null) ?? value;
    });
    return { id, ...target, ...secrets };
  });
  if (problems.length > 0) throw validationError(problems);
  if (required.length > 0) throw credentialRequiredError(required);
  return targets;
}

const UNKNOWN_MASK_MESSAGE = "is a masked value, and no stored secret matches it; send the secret itself";

function requiredMessage(subject: string, reason: string): string {
  return `${subject} ${reason}; send the secret itself instead of its mask`;
}

/**
 * Returns the stored secret that a mask refers to, or why it is not used. Its value is null if `sent` is not a mask of a stored
 * secret. All short secrets have the same mask, and an administrator may know the mask only: a secret must not move to another
 * target, header, or place.
 */
function findKept(
  sent: string,
  place: SecretPlace,
  target: Omit<TargetFields, "id">,
  stored: Target | undefined,
  before: Upstream | null,
): { readonly value: string | null } | { readonly reason: string } {
  const value = stored === undefined ? undefined : secretAt(stored, place);
  if (stored !== undefined && value !== undefined && sent === maskSecret(value)) {
    const field = changedDestination(stored, target);
    return field === null ? { value } : { reason: `would send its stored secret to another ${field}` };
  }
  const isMaskOfOther = before?.targets.some((each) =>
    secretsOf(each).some((secret) => maskSecret(secret.value) === sent),
  );
  if (isMaskOfOther !== true) return { value: null };
  const field = stored === undefined ? null : changedDestination(stored, target);
  const elsewhere =
    field ?? (place.header === null ? "target or field of credentials" : "target or field of headers");
  return { reason: `would send a stored secret to another ${elsewhere}` };
}
