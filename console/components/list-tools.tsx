// The controls above a list: search, sort order on phones, and the choice of columns.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { replaceSearch } from "../state/router.tsx";
import { Icon } from "./icon.tsx";
import type { Column } from "./table.tsx";

const SEARCH_DELAY_MS = 150;

export interface ListColumn<Row> extends Column<Row> {
  /** The field that the API sorts by. */
  readonly sort?: string;
}

/** Writes the text to the address bar when typing pauses. */
export function SearchBox({ what, value }: { readonly what: string; readonly value: string }): JSX.Element {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  useEffect(() => {
    if (text.trim() === value) return undefined;
    const timer = setTimeout(() => replaceSearch({ search: text.trim(), page: null }), SEARCH_DELAY_MS);
    return () => clearTimeout(timer);
  }, [text, value]);
  return (
    <input
      type="search"
      class="input"
      aria-label={`Search ${what}`}
      placeholder={`Search ${what}`}
      autocomplete="off"
      spellcheck={false}
      value={text}
      onInput={(event) => setText(event.currentTarget.value)}
    />
  );
}

function setSort(sort: string): void {
  replaceSearch({ sort, page: null });
}

/** Adds a button to the title of a column that the API sorts by. */
export function sortable<Row>(column: ListColumn<Row>, sort: string): Column<Row> {
  const { sort: field, title } = column;
  if (field === undefined) return column;
  const direction = sort === field ? "ascending" : sort === `-${field}` ? "descending" : undefined;
  return {
    ...column,
    direction,
    header: (
      <button
        type="button"
        class="sort-button"
        onClick={() => setSort(direction === "ascending" ? `-${field}` : field)}
      >
        {title}
        <span aria-hidden="true">
          {direction === undefined ? "" : direction === "ascending" ? " ↑" : " ↓"}
        </span>
      </button>
    ),
  };
}

interface ColumnsProps {
  readonly columns: readonly { readonly title: string; readonly kind?: string; readonly sort?: string }[];
}

interface SortSelectProps extends ColumnsProps {
  readonly sort: string;
  /** The order without `sort`. */
  readonly unsorted?: string;
}

/** For phones, whose rows are cards without column titles. */
export function SortSelect({
  columns,
  sort,
  unsorted = "Oldest first",
}: SortSelectProps): JSX.Element | null {
  const fields = columns.flatMap(({ title, sort: field }) => (field === undefined ? [] : { title, field }));
  if (fields.length === 0) return null;
  return (
    <select
      class="input phone-only"
      aria-label="Sort by"
      value={sort}
      onChange={(event) => setSort(event.currentTarget.value)}
    >
      <option value="">{unsorted}</option>
      {fields.flatMap(({ title, field }) => [
        <option key={field} value={field}>{`${title} ↑`}</option>,
        <option key={`-${field}`} value={`-${field}`}>{`${title} ↓`}</option>,
      ])}
    </select>
  );
}

interface ColumnChoiceProps extends ColumnsProps {
  /** Of the table. */
  readonly label: string;
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

/** Kinds of columns that cannot be hidden. */
const FIXED = ["main", "actions", "order"];

/** A menu of checkboxes. It closes on Escape and on a click elsewhere. */
export function ColumnChoice({ label, columns, hidden, onChange }: ColumnChoiceProps): JSX.Element {
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const closeOutside = ({ target }: PointerEvent) => {
      if (target instanceof Node && details.current?.contains(target) === false) details.current.open = false;
    };
    document.addEventListener("pointerdown", closeOutside);
    return () => document.removeEventListener("pointerdown", closeOutside);
  }, []);
  const toggle = (title: string) => {
    const next = new Set(hidden);
    if (!next.delete(title)) next.add(title);
    onChange(next);
  };
  return (
    <details
      ref={details}
      class="column-choice"
      onKeyDown={(event) => {
        if (event.key !== "Escape" || details.current?.open !== true) return;
        details.current.open = false;
        details.current.querySelector("summary")?.focus();
      }}
    >
      <summary class="button plain" aria-label={`Columns of ${label}`}>
        <Icon name="menu" /> Columns
      </summary>
      <fieldset>
        <legend class="visually-hidden">Shown columns</legend>
        {columns
          .filter(({ kind = "text" }) => !FIXED.includes(kind))
          .map(({ title }) => (
            <label key={title}>
              <input type="checkbox" checked={!hidden.has(title)} onChange={() => toggle(title)} /> {title}
            </label>
          ))}
      </fieldset>
    </details>
  );
}

/** The hidden columns of a list, which this browser remembers. */
export function useHiddenColumns(label: string) {
  const key = `gatehouse.hidden-columns.${label}`;
  const [hidden, setHidden] = useState<ReadonlySet<string>>(
    () => new Set(localStorage.getItem(key)?.split("\n") ?? []),
  );
  const change = (next: ReadonlySet<string>) => {
    if (next.size === 0) localStorage.removeItem(key);
    else localStorage.setItem(key, [...next].join("\n"));
    setHidden(next);
  };
  return [hidden, change] as const;
}
