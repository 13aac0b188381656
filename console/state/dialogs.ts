// State of the confirmation dialog and of toasts. Any module may open one; components/dialog-host.tsx renders them.
import { signal } from "@preact/signals";

export interface Confirmation {
  readonly title: string;
  readonly text: string;
  readonly confirm: string;
  readonly isDangerous?: boolean;
  /** Text that must be typed to enable the confirm button. */
  readonly requiredText?: string | undefined;
  /** Runs on confirm while the dialog stays open. If it throws, the dialog shows the error. */
  readonly action?: () => Promise<unknown>;
  /** Returns the confirmation to offer after `action` failed, or null to offer the same one again. */
  readonly escalate?: (error: Error) => Confirmation | null;
}

export interface OpenConfirmation extends Confirmation {
  readonly close: (isConfirmed: boolean) => void;
}

export const openConfirmation = signal<OpenConfirmation | null>(null);

/** Resolves to true if the user confirmed and the action, if any, succeeded. */
export function confirmAction(confirmation: Confirmation): Promise<boolean> {
  openConfirmation.value?.close(false);
  return new Promise((resolve) => {
    openConfirmation.value = {
      ...confirmation,
      close: (isConfirmed) => {
        openConfirmation.value = null;
        resolve(isConfirmed);
      },
    };
  });
}

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly kind: "done" | "error";
}

export const toasts = signal<readonly Toast[]>([]);
const TOAST_MS = 5000;
let lastId = 0;

/** Shows a short message in a corner for a few seconds and announces it to screen readers. */
export function showToast(text: string, kind: Toast["kind"] = "done"): void {
  const id = ++lastId;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind }];
  setTimeout(() => (toasts.value = toasts.value.filter((toast) => toast.id !== id)), TOAST_MS);
}
