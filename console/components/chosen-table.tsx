// Table of a list that is not one of records, with the choice of its columns. The address bar keeps the order.
import type { JSX } from "preact";
import { route } from "../state/router.tsx";
import { ColumnChoice, sortable, SortSelect, useHiddenColumns, type ListColumn } from "./list-tools.tsx";
import { Table, type TableProps } from "./table.tsx";

interface ChosenTableProps<Row> extends TableProps<Row> {
  readonly columns: readonly ListColumn<Row>[];
  /** The order without `sort` in the address. */
  readonly unsorted?: string;
}

export function ChosenTable<Row>({ unsorted = "", ...props }: ChosenTableProps<Row>): JSX.Element {
  const { label, columns } = props;
  const [hidden, setHidden] = useHiddenColumns(label);
  const sort = route.value.search.get("sort") ?? "";
  const shown = columns.filter(({ title }) => !hidden.has(title));
  return (
    <>
      <div class="list-tools at-end">
        <SortSelect columns={columns} sort={sort} unsorted={unsorted} />
        <ColumnChoice label={label} columns={columns} hidden={hidden} onChange={setHidden} />
      </div>
      <Table {...props} columns={shown.map((column) => sortable(column, sort))} />
    </>
  );
}
