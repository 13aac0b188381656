// Saved views of the request log: named sets of filters, kept in this browser.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { readViews, writeViews } from "../state/saved-views.ts";
import { Filter } from "./filter.tsx";

interface SavedViewsProps {
  readonly filters: Readonly<Record<string, string>>;
  /** Replaces all filters. */
  readonly onApply: (filters: Readonly<Record<string, string>>) => void;
}

export function SavedViews({ filters, onApply }: SavedViewsProps): JSX.Element | null {
  const [views, setViews] = useState(readViews);
  const [name, setName] = useState<string | null>(null);
  const selected = Object.entries(views).find(([, view]) => isEqual(view, filters))?.[0] ?? "";
  const change = (next: typeof views) => {
    setViews(next);
    writeViews(next);
  };
  const save = () => {
    const trimmed = (name ?? "").trim();
    if (trimmed === "") return;
    change({ ...views, [trimmed]: filters });
    setName(null);
  };
  const isFiltered = Object.keys(filters).length > 0;
  if (!isFiltered && Object.keys(views).length === 0) return null;
  return (
    <div class="filters saved-views">
      {Object.keys(views).length > 0 && (
        <Filter
          label="Saved view"
          value={selected}
          onChange={(choice) => onApply(views[choice] ?? {})}
          choices={Object.keys(views).map((each) => [each, each] as const)}
        />
      )}
      {selected !== "" && (
        <Button
          onClick={() =>
            change(Object.fromEntries(Object.entries(views).filter(([each]) => each !== selected)))
          }
        >
          Delete view
        </Button>
      )}
      {selected === "" && isFiltered && name === null && (
        <Button onClick={() => setName("")}>Save view</Button>
      )}
      {name !== null && (
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault();
            save();
          }}
        >
          <label class="filter">
            <span>Name of the view</span>
            <input
              class="input"
              value={name}
              maxLength={60}
              autoFocus
              onInput={(event) => setName(event.currentTarget.value)}
            />
          </label>
          <Button submit kind="primary" isDisabled={name.trim() === ""}>
            Save
          </Button>
          <Button onClick={() => setName(null)}>Cancel</Button>
        </form>
      )}
    </div>
  );
}

function isEqual(one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean {
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}
