// Upstreams of a gateway: targets keep their ids, and credentials are shown masked and kept when the mask comes back.
import { validationError, type ErrorDetail } from "../../base/errors.ts";
import { newId } from "../../base/ids.ts";
import {
  looksMasked,
  maskSecret,
  type Credentials,
  type Target,
  type TargetFields,
} from "../../model/target.ts";
import { maskUpstream, upstreamSchema, type Upstream, type UpstreamFields } from "../../model/upstream.ts";
import { EXAMPLE_UPSTREAM } from "../../formats/example-upstream.ts";
import type { ChildResource } from "../child-routes.ts";

export const upstreams: ChildResource<"upstreams", UpstreamFields> = {
  kind: "upstreams",
  schemaName: "Upstream",
  singular: "upstream",
  schema: upstreamSchema,
  example: EXAMPLE_UPSTREAM,
  toStored: (fields, before) => ({ ...fields, targets: storedTargets(fields.targets, before) }),
  toShown: maskUpstream,
};

function storedTargets(sent: readonly TargetFields[], before: Upstream | null): Target[] {
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
    const kept = keptCredential(credentials, target.provider, known, before, index);
    if (kept === null && looksMasked(credentials.header_value)) {
      const message = "is a masked value that stands for no stored credential; send the credential itself";
      problems.push({ path: `${path}.credentials.header_value`, message });
    }
    return { id, ...target, credentials: { ...credentials, header_value: kept ?? credentials.header_value } };
  });
  if (problems.length > 0) throw validationError(problems);
  return targets;
}

/**
 * The stored credential that a masked value stands for: the target's own, else (the ids were left out) that of the same
 * place, if it is for the same provider and header. Short secrets look all the same, and must not change places.
 */
function keptCredential(
  sent: Credentials,
  provider: string,
  known: Target | undefined,
  before: Upstream | null,
  index: number,
): string | null {
  const atPlace = before?.targets[index];
  const isSame = atPlace?.provider === provider && atPlace.credentials?.header_name === sent.header_name;
  const stored = (known ?? (isSame ? atPlace : undefined))?.credentials?.header_value;
  return stored !== undefined && sent.header_value === maskSecret(stored) ? stored : null;
}
