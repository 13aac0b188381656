// Modal dialog on the native <dialog> element, which traps focus, closes on Escape, and makes the page inert.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { IconButton } from "./button.tsx";

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  /** `drawer` is attached to the right edge at full height. */
  readonly kind?: "modal" | "drawer";
}

export function Dialog({ title, onClose, children, kind = "modal" }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    element.showModal();
    return () => element.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${kind}`}
      aria-labelledby={titleId}
      onKeyDown={(event) => {
        // Chromium closes a dialog at the second Escape in a row, even if the cancel event is prevented.
        if (event.key !== "Escape") return;
        event.preventDefault();
        event.stopPropagation();
        onClose();
      }}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) => {
        // A click on the backdrop targets the dialog element itself.
        if (event.target === dialog.current) onClose();
      }}
    >
      <div class="dialog-box">
        <header>
          <h2 id={titleId}>{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
