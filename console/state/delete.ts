// Deleting, always after a question; what the API names as standing in the way is shown there.
import { ApiError, call } from "../api/client.ts";
import { ask, say } from "./dialogs.ts";

export interface Deletion {
  /** As in "rule". */
  readonly what: string;
  readonly name: string;
  readonly path: string;
  readonly consequence?: string;
  readonly etag?: string | null;
}

/** True once it is gone. */
export async function confirmDelete({ what, name, path, consequence, etag }: Deletion): Promise<boolean> {
  const isGone = await ask({
    title: `Delete the ${what} “${name}”?`,
    text:
      consequence ??
      "It is gone at once, for every client. Rolling back to an earlier revision brings it back.",
    confirm: "Delete",
    isDangerous: true,
    action: () => call("DELETE", path, { etag }),
    after: (error) => (what === "gateway" && isInUse(error) ? cascade(name, path) : null),
  });
  if (isGone) say(`Deleted the ${what} “${name}”.`);
  return isGone;
}

function cascade(name: string, path: string) {
  return {
    title: `Delete “${name}” with all its parts?`,
    text: "Its upstreams, services, rules and API keys go with it. Calls to them fail from then on.",
    confirm: "Delete everything",
    isDangerous: true,
    typed: name,
    action: () => call("DELETE", `${path}?cascade=true`),
  };
}

function isInUse(error: Error): boolean {
  return error instanceof ApiError && error.code === "in_use";
}
