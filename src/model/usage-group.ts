// What usage can be grouped by: properties of a request, and labels of its API key (`label:team`).
import { LABEL_NAME } from "./label-name.ts";

export const USAGE_GROUPS = ["day", "model", "api_key", "rule", "provider", "purpose", "gateway"] as const;
const LABEL_PREFIX = "label:";

export type UsageGroup = (typeof USAGE_GROUPS)[number] | `${typeof LABEL_PREFIX}${string}`;

export function isUsageGroup(text: string): text is UsageGroup {
  return USAGE_GROUPS.some((group) => group === text) || isLabelGroup(text);
}

/** Returns the name of the label; null for another group. */
export function labelIn(group: UsageGroup): string | null {
  return isLabelGroup(group) ? group.slice(LABEL_PREFIX.length) : null;
}

function isLabelGroup(text: string): boolean {
  return text.startsWith(LABEL_PREFIX) && LABEL_NAME.test(text.slice(LABEL_PREFIX.length));
}
