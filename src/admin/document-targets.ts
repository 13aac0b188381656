// Assigns the ids of stored targets to the targets of a document. Documents have no ids, but health state is kept by id.
import type { DocumentUpstream } from "../model/document.ts";
import { HIDDEN, maskSecret, type Target } from "../model/target.ts";

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
    const { id, credentials } = found;
    // The export writes HIDDEN if the mask contains a brace. It refers to the stored credential, too.
    if (credentials === null || target.credentials?.header_value !== HIDDEN) return { ...target, id };
    return {
      ...target,
      id,
      credentials: { ...target.credentials, header_value: maskSecret(credentials.header_value) },
    };
  });
}

function sameFields(wanted: DocumentTarget, stored: Target): boolean {
  const { id, credentials, ...fields } = stored;
  return Bun.deepEquals({ ...wanted, id, credentials }, { ...fields, id, credentials });
}

function sameCredential(wanted: DocumentTarget, stored: Target): boolean {
  if (wanted.credentials === null || stored.credentials === null)
    return wanted.credentials === stored.credentials;
  const { header_name, header_value } = stored.credentials;
  const given = wanted.credentials.header_value;
  const isSame = [header_value, maskSecret(header_value), HIDDEN].includes(given);
  return isSame && wanted.credentials.header_name === header_name;
}

function sameEndpoint(wanted: DocumentTarget, stored: Target): boolean {
  return (
    wanted.provider === stored.provider && wanted.base_url === stored.base_url && wanted.path === stored.path
  );
}
