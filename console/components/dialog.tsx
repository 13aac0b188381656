// Modal dialog on the native <dialog> element, which traps focus, closes on Escape, and makes the page inert.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
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
      aria-labelledby="dialog-title"
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
          <h2 id="dialog-title">{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  );
}
