// Dialog that finds records, requests, pages, actions, and documentation by a text, and opens them by keyboard.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { usePaletteGroups, type PaletteItem } from "../state/palette-items.ts";
import { isPaletteOpen } from "../state/palette.ts";
import { navigate, route } from "../state/router.tsx";
import { Icon } from "./icon.tsx";

export function CommandPalette(): JSX.Element | null {
  return isPaletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [text, setText] = useState("");
  const [active, setActive] = useState(0);
  const { groups, isSearching } = usePaletteGroups(text);
  const items = groups.flatMap((group) => group.items);
  const current = Math.min(active, items.length - 1);
  useEffect(() => {
    const element = dialog.current;
    if (element === null) return undefined;
    element.showModal();
    return () => element.close();
  }, []);
  useEffect(() => {
    document.getElementById(`palette-${current}`)?.scrollIntoView({ block: "nearest" });
  }, [current, items.length]);
  const close = () => {
    // Closing returns the focus to where it was.
    dialog.current?.close();
    isPaletteOpen.value = false;
  };
  const select = (item: PaletteItem | undefined) => {
    if (item === undefined) return;
    close();
    if (item.href !== undefined) location.assign(item.href);
    else if (item.to !== undefined) void open(item.to);
    else item.run?.();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const next = { ArrowDown: current + 1, ArrowUp: current - 1, PageDown: current + 8, PageUp: current - 8 }[
      event.key
    ];
    if (next !== undefined) {
      event.preventDefault();
      setActive(Math.max(0, Math.min(items.length - 1, next)));
    } else if (event.key === "Enter" && !event.isComposing) {
      event.preventDefault();
      select(items[current]);
    }
  };
  let index = -1;
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Search"
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      onMouseDown={(event) => {
        if (event.target === dialog.current) close();
      }}
    >
      <div class="palette-input">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Search everything"
          aria-expanded="true"
          aria-controls="palette-options"
          aria-autocomplete="list"
          aria-activedescendant={items.length > 0 ? `palette-${current}` : undefined}
          placeholder="Search everything"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
        />
        <button type="button" class="button quiet small" onClick={close}>
          Close
        </button>
      </div>
      <div id="palette-options" role="listbox" aria-label="Results" class="palette-options">
        {groups.map((group) => (
          <div key={group.title} role="group" aria-label={group.title}>
            <p aria-hidden="true">{group.title}</p>
            {group.items.map((item) => {
              index++;
              return (
                <Option
                  key={index}
                  item={item}
                  index={index}
                  isActive={index === current}
                  onSelect={select}
                />
              );
            })}
          </div>
        ))}
      </div>
      <p class="palette-status hint" role="status">
        {items.length > 0
          ? `${items.length} ${items.length === 1 ? "result" : "results"}`
          : isSearching
            ? "Searching…"
            : `Nothing matches “${text.trim()}”.`}
      </p>
    </dialog>
  );
}

interface OptionProps {
  readonly item: PaletteItem;
  readonly index: number;
  readonly isActive: boolean;
  readonly onSelect: (item: PaletteItem) => void;
}

function Option({ item, index, isActive, onSelect }: OptionProps): JSX.Element {
  return (
    <div
      id={`palette-${index}`}
      role="option"
      aria-selected={isActive}
      class="palette-option"
      onClick={() => onSelect(item)}
    >
      <Icon name={item.icon} />
      <span class="palette-title">{item.title}</span>
      {item.detail !== undefined && <span class="palette-detail">{item.detail}</span>}
    </div>
  );
}

/** Opens a page. Its heading gets the focus, unless unsaved changes keep the current page. */
async function open(to: string): Promise<void> {
  const before = document.activeElement;
  const { path } = route.value;
  if (before instanceof HTMLElement) before.blur();
  await navigate(to);
  if (route.value.path === path && before instanceof HTMLElement) before.focus();
}
