// Deletes a record after confirmation. The dialog lists the records that still refer to it.
import { ApiError, call } from "../api/client.ts";
import { confirmAction, showToast, type Confirmation } from "./dialogs.ts";

interface Deletion {
  /** Singular, as in "rule". */
  readonly kind: string;
  readonly name: string;
  readonly path: string;
}

/** Resolves to true if the record was deleted. */
export async function confirmDelete({ kind, name, path }: Deletion): Promise<boolean> {
  const isDeleted = await confirmAction({
    title: `Delete ${kind} “${name}”?`,
    text: "It is deleted immediately for all clients. You can restore it by rolling back to an earlier revision.",
    confirm: "Delete",
    isDangerous: true,
    action: () => call("DELETE", path),
    escalate: (error) => (kind === "gateway" && isInUse(error) ? cascadeConfirmation(name, path) : null),
  });
  if (isDeleted) showToast(`Deleted ${kind} “${name}”.`);
  return isDeleted;
}

function cascadeConfirmation(name: string, path: string): Confirmation {
  return {
    title: `Delete “${name}” and everything in it?`,
    text: "This also deletes its upstreams, services, rules, and API keys. Requests to them will fail.",
    confirm: "Delete everything",
    isDangerous: true,
    requiredText: name,
    action: () => call("DELETE", `${path}?cascade=true`),
  };
}

function isInUse(error: Error): boolean {
  return error instanceof ApiError && error.code === "in_use";
}
