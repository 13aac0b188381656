// The list of every page with records: search, sort, pages, column choice, and actions on selected rows. The address bar keeps
// search, sort, and page.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { ListPage, ListQuery } from "../api/resources.ts";
import { mayCall } from "../state/administrator.ts";
import { runOnEach, type BulkAction } from "../state/bulk.ts";
import { usePoll } from "../state/load.ts";
import { route } from "../state/router.tsx";
import { Button } from "./button.tsx";
import {
  ColumnChoice,
  SearchBox,
  sortable,
  SortSelect,
  useHiddenColumns,
  type ListColumn,
} from "./list-tools.tsx";
import { WhenLoaded } from "./page.tsx";
import { pageIn, Pages, PAGE_SIZE } from "./pages.tsx";
import { OrderButton, useRowOrder, type RowOrder } from "./row-order.tsx";
import { Table, type Column } from "./table.tsx";

interface RecordListProps<Row> {
  /** Plural, as in "gateways". */
  readonly what: string;
  readonly label: string;
  readonly load: (query: ListQuery, signal: AbortSignal) => Promise<ListPage<Row>>;
  /** The list is loaded again if one of them changes. */
  readonly dependencies: readonly unknown[];
  /** Loads the list again at this interval. */
  readonly intervalMs?: number;
  readonly columns: readonly ListColumn<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
  readonly isDimmed?: (row: Row) => boolean;
  readonly actions?: readonly BulkAction<Row>[];
  readonly order?: RowOrder<Row>;
  /** Shown if there are no records at all. */
  readonly empty: ComponentChildren;
}

export function RecordList<Row>(props: RecordListProps<Row>): JSX.Element {
  const { what, label, load, dependencies, keyOf, nameOf, intervalMs = null } = props;
  const { search: parameters } = route.value;
  const search = parameters.get("search") ?? "";
  const sort = parameters.get("sort") ?? "";
  const page = pageIn(parameters);
  const query = { search, sort, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE };
  const loaded = usePoll((signal) => load(query, signal), intervalMs, [search, sort, page, ...dependencies]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [hidden, setHidden] = useHiddenColumns(label);
  const actions = (props.actions ?? []).filter(({ operation }) => mayCall(operation));
  const { rows, moving } = useRowOrder(props, loaded, sort);
  return (
    <WhenLoaded loaded={loaded} what={what}>
      {({ count }) => {
        if (count === 0 && search === "" && page === 1) return props.empty;
        const chosen = rows.filter((row) => selected.has(keyOf(row)));
        const run = async (action: BulkAction<Row>, applicable: readonly Row[]) => {
          const failed = await runOnEach(action, applicable, what, nameOf);
          if (failed === null) return;
          setSelected(new Set(failed.map(keyOf)));
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
              {props.order !== undefined && <OrderButton order={props.order} current={sort} />}
              <ColumnChoice label={label} columns={props.columns} hidden={hidden} onChange={setHidden} />
              {chosen.length > 0 && <SelectionTools chosen={chosen} actions={actions} run={run} />}
            </div>
            {rows.length === 0 ? (
              <p class="muted">{count === 0 ? `No ${what} match “${search}”.` : "This page is empty."}</p>
            ) : (
              <Table
                label={label}
                rows={rows}
                keyOf={keyOf}
                {...(props.isDimmed !== undefined && { isDimmed: props.isDimmed })}
                {...(moving !== null && { rowProps: moving.rowProps })}
                columns={[
                  ...(actions.length === 0
                    ? []
                    : [selectionColumn(rows, { keyOf, nameOf, selected, onChange: setSelected })]),
                  ...(moving === null ? [] : [moving.column]),
                  ...columns,
                ]}
              />
            )}
            <Pages page={page} shown={rows.length} count={count} />
          </>
        );
      }}
    </WhenLoaded>
  );
}

interface SelectionToolsProps<Row> {
  readonly chosen: readonly Row[];
  readonly actions: readonly BulkAction<Row>[];
  readonly run: (action: BulkAction<Row>, applicable: readonly Row[]) => Promise<void>;
}

function SelectionTools<Row>({ chosen, actions, run }: SelectionToolsProps<Row>): JSX.Element {
  return (
    <div class="selection" role="group" aria-label="Selected rows">
      <span role="status">{chosen.length} selected</span>
      {actions.map((action) => {
        const applicable = chosen.filter((row) => action.appliesTo?.(row) ?? true);
        return (
          <Button
            key={action.verb}
            kind={action.isDangerous === true ? "danger" : "plain"}
            isDisabled={applicable.length === 0}
            onClick={() => void run(action, applicable)}
          >
            {action.verb}
          </Button>
        );
      })}
    </div>
  );
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
