// Tables that become lists of cards on a phone. The roles are written out because the cards change how rows are drawn,
// and browsers forget what they were.
import type { ComponentChildren, JSX } from "preact";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `number` aligns right; `main` is the name of the row; `actions` has no title that is seen. */
  readonly kind?: "text" | "number" | "main" | "actions";
  /** Of a dense table, whose columns do not make room for what is in them. */
  readonly width?: string;
}

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly isDimmed?: (row: Row) => boolean;
  /** One line a row, for lists that are read by running the eye down. */
  readonly isDense?: boolean;
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  isDimmed,
  isDense = false,
}: TableProps<Row>): JSX.Element {
  return (
    <table class={isDense ? "table dense" : "table"} role="table" aria-label={label}>
      {isDense && (
        <colgroup>
          {columns.map(({ title, width }) => (
            <col key={title} style={width === undefined ? undefined : { width }} />
          ))}
        </colgroup>
      )}
      <thead role="rowgroup">
        <tr role="row">
          {columns.map(({ title, kind }) => (
            <th key={title} role="columnheader" scope="col" class={kind}>
              {kind === "actions" ? <span class="unseen">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr key={keyOf(row)} role="row" class={isDimmed?.(row) === true ? "dimmed" : undefined}>
            {columns.map(({ title, cell, kind = "text" }) =>
              kind === "main" ? (
                <th key={title} role="rowheader" scope="row" class={kind}>
                  {cell(row)}
                </th>
              ) : (
                <td key={title} role="cell" class={kind} data-title={kind === "actions" ? undefined : title}>
                  <div class="cell">{cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
