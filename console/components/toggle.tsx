// Switch that changes one field of a record in a list.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { mayCall } from "../state/administrator.ts";
import { toError } from "../api/client.ts";
import { showToast } from "../state/dialogs.ts";
import { Badge } from "./badge.tsx";

interface ToggleProps {
  readonly isOn: boolean;
  /** Accessible name, as in "/v1/chat is active". */
  readonly label: string;
  readonly texts: readonly [off: string, on: string];
  /** Method and path that `onToggle` calls. Without the right to call it, the state is shown as text. */
  readonly operation: string;
  readonly onToggle: () => Promise<unknown>;
  /** Runs after the change and after a failed one: the list shows the stored state then. */
  readonly onDone?: () => void;
}

export function Toggle({ isOn, label, texts, operation, onToggle, onDone }: ToggleProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const text = isOn ? texts[1] : texts[0];
  if (!mayCall(operation)) return <Badge tone={isOn ? "good" : "neutral"}>{text}</Badge>;
  const toggle = async () => {
    if (isBusy) return;
    setBusy(true);
    try {
      await onToggle();
    } catch (error) {
      showToast(toError(error).message, "error");
    }
    setBusy(false);
    onDone?.();
  };
  return (
    <button
      type="button"
      class="toggle"
      role="switch"
      aria-checked={isOn}
      aria-label={label}
      aria-busy={isBusy}
      onClick={() => void toggle()}
    >
      <span class="track" aria-hidden="true" /> {text}
    </button>
  );
}
