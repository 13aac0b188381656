// Assigns the ids of stored targets to the targets of a document. Documents have no ids, but health state is kept by id.
import type { DocumentUpstream } from "../model/document.ts";
import { isSecretHeader, mapSecrets, secretAt, type SecretPlace } from "../model/target-secrets.ts";
import { HIDDEN, maskSecret } from "../model/secret-mask.ts";
import type { Target } from "../model/target.ts";

type DocumentTarget = DocumentUpstream["targets"][number];

/** Comparisons from the strictest to the loosest. A target gets the first stored target that is still unassigned. */
const COMPARISONS: readonly ((wanted: DocumentTarget, stored: Target) => boolean)[] = [
  (wanted, stored) => sameFields(wanted, stored) && sameCredential(wanted, stored),
  sameFields,
  (wanted, stored) => sameEndpoint(wanted, stored) && wanted.default_model === stored.default_model,
  sameEndpoint,
  (wanted, stored) => wanted.provider === stored.provider,
];

export function withTargetIds(
  wanted: readonly DocumentTarget[],
  stored: readonly Target[],
): (DocumentTarget & { id?: string })[] {
  const free = new Set(stored);
  const matched = new Map<DocumentTarget, Target>();
  for (const isAlike of COMPARISONS) {
    for (const target of wanted) {
      if (matched.has(target)) continue;
      const found = [...free].find((each) => isAlike(target, each));
      if (found === undefined) continue;
      matched.set(target, found);
      free.delete(found);
    }
  }
  return wanted.map((target) => {
    const found = matched.get(target);
    if (found === undefined) return target;
    // The export writes HIDDEN if the mask contains a brace. It refers to the stored secret, too.
    const secrets = mapSecrets(target, (value, place) => {
      const secret = value === HIDDEN ? secretAt(found, place) : undefined;
      return secret === undefined ? value : maskSecret(secret);
    });
    return { ...target, ...secrets, id: found.id };
  });
}

function sameFields(wanted: DocumentTarget, stored: Target): boolean {
  const { id, credentials, headers, ...fields } = stored;
  const isSame = Bun.deepEquals(
    { ...wanted, id, credentials, headers },
    { ...fields, id, credentials, headers },
  );
  return isSame && sameHeaders(wanted.headers, headers);
}

function sameHeaders(wanted: Target["headers"], stored: Target["headers"]): boolean {
  const names = Object.keys(wanted);
  if (names.length !== Object.keys(stored).length) return false;
  return names.every((name) => {
    const [given, value] = [wanted[name], stored[name]];
    if (given === undefined || value === undefined) return false;
    return isSecretHeader(name) ? isSecretOrMask(given, value) : given === value;
  });
}

function sameCredential(wanted: DocumentTarget, stored: Target): boolean {
  if (wanted.credentials === null || stored.credentials === null)
    return wanted.credentials === stored.credentials;
  const places: SecretPlace[] = [];
  const [given, kept] = [wanted, stored].map((target) => {
    const { credentials } = mapSecrets({ headers: {}, credentials: target.credentials }, (_, place) => {
      places.push(place);
      return HIDDEN;
    });
    return { ...credentials, type: credentials?.type ?? "header" };
  });
  if (!Bun.deepEquals(given, kept)) return false;
  return places.every((place) =>
    isSecretOrMask(secretAt(wanted, place) ?? "", secretAt(stored, place) ?? ""),
  );
}

function isSecretOrMask(given: string, secret: string): boolean {
  return [secret, maskSecret(secret), HIDDEN].includes(given);
}

function sameEndpoint(wanted: DocumentTarget, stored: Target): boolean {
  return (
    wanted.provider === stored.provider && wanted.base_url === stored.base_url && wanted.path === stored.path
  );
}
