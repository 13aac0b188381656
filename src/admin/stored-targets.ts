// Turns the targets of a request into stored targets: they keep their ids, and a masked secret keeps its value as long as it is
// sent to the same place.
import { validationError, type ErrorDetail } from "../base/errors.ts";
import { newId } from "../base/ids.ts";
import { mapSecrets } from "../model/target-secrets.ts";
import type { Target, TargetFields } from "../model/target.ts";
import type { Upstream } from "../model/upstream.ts";
import { KeptSecrets } from "./kept-secrets.ts";

/** `before` is the stored upstream; null for a new one. `pathOf` returns where the body has a target, for error messages. */
export function toStoredTargets(
  sent: readonly TargetFields[],
  before: Upstream | null,
  pathOf: (index: number) => string = (index) => `targets[${index}]`,
): Target[] {
  const problems: ErrorDetail[] = [];
  const kept = new KeptSecrets(before?.targets ?? [], "target or field");
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
    const subject = `target ${index + 1} (${target.provider})`;
    const secrets = mapSecrets(target, (value, place) =>
      kept.find(value, place, target, stored, subject, `${path}.${place.path}`),
    );
    return { id, ...target, ...secrets };
  });
  problems.push(...kept.unknownMasks);
  if (problems.length > 0) throw validationError(problems);
  kept.rejectMoved();
  return targets;
}
