// The list of every page with records: search, sort, pages, column choice, and actions on selected rows. The address bar keeps
// search, sort, and page.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useLoad } from "../state/load.ts";
import { replaceSearch, route } from "../state/router.tsx";
import { runOnEach, type BulkAction } from "../state/bulk.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { WhenLoaded } from "./page.tsx";
import { Pages, PAGE_SIZE } from "./pages.tsx";
import { Table, type Column } from "./table.tsx";

const SEARCH_DELAY_MS = 150;

interface ListQuery {
  readonly search: string;
  readonly sort: string;
  readonly limit: number;
  readonly offset: number;
}

interface ListPage<Row> {
  readonly rows: readonly Row[];
  /** Number of all matching rows. */
  readonly count: number;
}

export interface ListColumn<Row> extends Column<Row> {
  /** The field that the API sorts by. */
  readonly sort?: string;
}

interface RecordListProps<Row> {
  /** Plural, as in "gateways". */
  readonly what: string;
  readonly label: string;
  readonly load: (query: ListQuery, signal: AbortSignal) => Promise<ListPage<Row>>;
  readonly dependencies: readonly unknown[];
  readonly columns: readonly ListColumn<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
  readonly isDimmed?: (row: Row) => boolean;
  readonly actions?: readonly BulkAction<Row>[];
  /** Shown if there are no records at all. */
  readonly empty: ComponentChildren;
}

export function RecordList<Row>(props: RecordListProps<Row>): JSX.Element {
  const { what, label, load, dependencies, keyOf, nameOf, actions = [] } = props;
  const { search: parameters } = route.value;
  const search = parameters.get("search") ?? "";
  const sort = parameters.get("sort") ?? "";
  const page = Math.max(1, Number(parameters.get("page") ?? 1) || 1);
  const query = { search, sort, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE };
  const loaded = useLoad((signal) => load(query, signal), [search, sort, page, ...dependencies]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [hidden, setHidden] = useHiddenColumns(label);
  return (
    <WhenLoaded loaded={loaded} what={what}>
      {({ rows, count }) => {
        if (count === 0 && search === "" && page === 1) return props.empty;
        const chosen = rows.filter((row) => selected.has(keyOf(row)));
        const run = async (action: BulkAction<Row>) => {
          await runOnEach(action, chosen, what, nameOf);
          setSelected(new Set());
          loaded.reload();
        };
        const columns = props.columns
          .filter(({ title }) => !hidden.has(title))
          .map((column) => sortable(column, sort));
        return (
          <>
            <div class="list-tools">
              <SearchBox what={what} value={search} />
              <SortSelect columns={props.columns} sort={sort} />
              <ColumnChoice columns={props.columns} hidden={hidden} onChange={setHidden} />
              {chosen.length > 0 && (
                <div class="selection" role="group" aria-label="Selected rows">
                  <span role="status">{chosen.length} selected</span>
                  {actions.map((action) => (
                    <Button
                      key={action.verb}
                      kind={action.isDangerous === true ? "danger" : "plain"}
                      onClick={() => void run(action)}
                    >
                      {action.verb}
                    </Button>
                  ))}
                </div>
              )}
            </div>
            {rows.length === 0 ? (
              <p class="muted">{count === 0 ? `No ${what} match “${search}”.` : "This page is empty."}</p>
            ) : (
              <Table
                label={label}
                rows={rows}
                keyOf={keyOf}
                {...(props.isDimmed !== undefined && { isDimmed: props.isDimmed })}
                columns={
                  actions.length === 0
                    ? columns
                    : [selectionColumn(rows, { keyOf, nameOf, selected, onChange: setSelected }), ...columns]
                }
              />
            )}
            <Pages page={page} shown={rows.length} count={count} />
          </>
        );
      }}
    </WhenLoaded>
  );
}

function SearchBox({ what, value }: { readonly what: string; readonly value: string }): JSX.Element {
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
function sortable<Row>(column: ListColumn<Row>, sort: string): Column<Row> {
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

/** For phones, whose rows are cards without column titles. */
function SortSelect({ columns, sort }: ColumnsProps & { readonly sort: string }): JSX.Element | null {
  const fields = columns.flatMap(({ title, sort: field }) => (field === undefined ? [] : { title, field }));
  if (fields.length === 0) return null;
  return (
    <select
      class="input phone-only"
      aria-label="Sort by"
      value={sort}
      onChange={(event) => setSort(event.currentTarget.value)}
    >
      <option value="">Oldest first</option>
      {fields.flatMap(({ title, field }) => [
        <option key={field} value={field}>{`${title} ↑`}</option>,
        <option key={`-${field}`} value={`-${field}`}>{`${title} ↓`}</option>,
      ])}
    </select>
  );
}

interface ColumnChoiceProps extends ColumnsProps {
  readonly hidden: ReadonlySet<string>;
  readonly onChange: (hidden: ReadonlySet<string>) => void;
}

function ColumnChoice({ columns, hidden, onChange }: ColumnChoiceProps): JSX.Element {
  const toggle = (title: string) => {
    const next = new Set(hidden);
    if (!next.delete(title)) next.add(title);
    onChange(next);
  };
  return (
    <details class="column-choice">
      <summary class="button plain">
        <Icon name="menu" /> Columns
      </summary>
      <fieldset>
        <legend class="visually-hidden">Shown columns</legend>
        {columns
          .filter(({ kind }) => kind !== "main" && kind !== "actions")
          .map(({ title }) => (
            <label key={title}>
              <input type="checkbox" checked={!hidden.has(title)} onChange={() => toggle(title)} /> {title}
            </label>
          ))}
      </fieldset>
    </details>
  );
}

function useHiddenColumns(label: string) {
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

interface Selection<Row> {
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
  readonly selected: ReadonlySet<string>;
  readonly onChange: (selected: ReadonlySet<string>) => void;
}

function selectionColumn<Row>(rows: readonly Row[], selection: Selection<Row>): Column<Row> {
  const { keyOf, nameOf, selected, onChange } = selection;
  const isAll = rows.every((row) => selected.has(keyOf(row)));
  const toggle = (row: Row) => {
    const next = new Set(selected);
    if (!next.delete(keyOf(row))) next.add(keyOf(row));
    onChange(next);
  };
  return {
    title: "Select",
    kind: "select",
    header: (
      <label class="select-row">
        <input
          type="checkbox"
          aria-label="Select all rows of this page"
          checked={isAll}
          onChange={() => onChange(new Set(isAll ? [] : rows.map(keyOf)))}
        />
      </label>
    ),
    cell: (row) => (
      <label class="select-row">
        <input
          type="checkbox"
          aria-label={`Select ${nameOf(row)}`}
          checked={selected.has(keyOf(row))}
          onChange={() => toggle(row)}
        />
      </label>
    ),
  };
}
