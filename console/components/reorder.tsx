// Order of items: a handle to drag, and buttons that move an item up and down by keyboard or touch.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { IconButton } from "./button.tsx";

interface ReorderOptions {
  /** Whether an item may take the place of another. */
  readonly mayMove: (from: number, to: number) => boolean;
  /** The moved item is rendered at its new place when the promise resolves. */
  readonly onMove: (from: number, to: number) => Promise<void> | void;
  /** Accessible name of the item at an index, as in "Move target 1 up". */
  readonly nameOf: (index: number) => string;
}

/** Attributes of the element of an item, on which others can be dropped. */
export interface ItemProps {
  readonly "data-drop": string | undefined;
  readonly onDragOver: (event: DragEvent) => void;
  readonly onDragLeave: () => void;
  readonly onDrop: (event: DragEvent) => void;
}

export interface Reorder {
  readonly itemProps: (index: number) => ItemProps;
  readonly controls: (index: number) => JSX.Element;
}

type Direction = "up" | "down";

export function useReorder({ mayMove, onMove, nameOf }: ReorderOptions): Reorder {
  const dragged = useRef<number | null>(null);
  const [over, setOver] = useState<number | null>(null);
  const [moved, setMoved] = useState<{ readonly index: number; readonly direction: Direction } | null>(null);
  useEffect(() => {
    if (moved !== null) focusButton(moved.index, moved.direction);
  }, [moved]);
  const mayDrop = (index: number) =>
    dragged.current !== null && dragged.current !== index && mayMove(dragged.current, index);
  const step = async (index: number, direction: Direction) => {
    const to = direction === "up" ? index - 1 : index + 1;
    await onMove(index, to);
    // The item is at its new place when this is rendered.
    setMoved({ index: to, direction });
  };
  return {
    itemProps: (index) => ({
      "data-drop": over === index ? "" : undefined,
      onDragOver: (event) => {
        if (!mayDrop(index)) return;
        event.preventDefault();
        setOver(index);
      },
      onDragLeave: () => setOver(null),
      onDrop: (event) => {
        event.preventDefault();
        if (dragged.current !== null && mayDrop(index)) void onMove(dragged.current, index);
        setOver(null);
      },
    }),
    controls: (index) => (
      <span class="reorder">
        <span
          class="drag-handle"
          title="Drag to change the order"
          draggable
          aria-hidden="true"
          onDragStart={(event) => {
            dragged.current = index;
            event.dataTransfer?.setData("text/plain", nameOf(index));
          }}
          onDragEnd={() => {
            dragged.current = null;
            setOver(null);
          }}
        >
          ⠿
        </span>
        {(["up", "down"] as const).map((direction) => (
          <IconButton
            key={direction}
            id={buttonId(index, direction)}
            icon={direction}
            label={`Move ${nameOf(index)} ${direction}`}
            isDisabled={!mayMove(index, direction === "up" ? index - 1 : index + 1)}
            onClick={() => void step(index, direction)}
          />
        ))}
      </span>
    ),
  };
}

function buttonId(index: number, direction: Direction): string {
  return `move-${index}-${direction}`;
}

/** Focuses the button of the moved item, or the other one if it cannot move further. */
function focusButton(index: number, direction: Direction): void {
  const other: Direction = direction === "up" ? "down" : "up";
  [direction, other]
    .map((each) => document.getElementById(buttonId(index, each)))
    .find((button) => button instanceof HTMLButtonElement && !button.disabled)
    ?.focus();
}
