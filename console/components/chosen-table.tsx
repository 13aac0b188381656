// Table of a list that is not one of records, with the choice of its columns.
import type { JSX } from "preact";
import { ColumnChoice, useHiddenColumns } from "./list-tools.tsx";
import { Table, type TableProps } from "./table.tsx";

export function ChosenTable<Row>(props: TableProps<Row>): JSX.Element {
  const { label, columns } = props;
  const [hidden, setHidden] = useHiddenColumns(label);
  return (
    <>
      <div class="list-tools at-end">
        <ColumnChoice columns={columns} hidden={hidden} onChange={setHidden} />
      </div>
      <Table {...props} columns={columns.filter(({ title }) => !hidden.has(title))} />
    </>
  );
}
