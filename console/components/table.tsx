// Table that is shown as a list of cards on a phone. The ARIA roles are explicit because browsers drop the implicit ones
// when CSS changes the display of rows and cells.
import type { ComponentChildren, JSX } from "preact";
import type { ItemProps } from "./reorder.tsx";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** `number` aligns right, `main` is the row header, `actions` hides its title visually, `select` has a checkbox, `order` moves the row. */
  readonly kind?: "text" | "number" | "main" | "actions" | "select" | "order";
  /** Shown instead of the title. */
  readonly header?: ComponentChildren;
  /** How the rows are sorted by this column. */
  readonly direction?: "ascending" | "descending" | undefined;
  /** CSS width. Only for dense tables, whose columns do not adapt to their content. */
  readonly width?: string;
}

/** Cells without a title on a phone. */
const UNTITLED = ["actions", "select", "order"];

export interface TableProps<Row> {
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly isDimmed?: (row: Row) => boolean;
  /** Attributes of the rows of a table that can be ordered. */
  readonly rowProps?: (row: Row) => ItemProps;
  /** One line per row, with overflow cut off. */
  readonly isDense?: boolean;
}

export function Table<Row>({
  label,
  columns,
  rows,
  keyOf,
  isDimmed,
  rowProps,
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
          {columns.map(({ title, kind, header, direction }) => (
            <th key={title} role="columnheader" scope="col" class={kind} aria-sort={direction}>
              {kind === "actions" || kind === "order" ? (
                <span class="visually-hidden">{title}</span>
              ) : (
                (header ?? title)
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody role="rowgroup">
        {rows.map((row) => (
          <tr
            key={keyOf(row)}
            {...rowProps?.(row)}
            role="row"
            class={isDimmed?.(row) === true ? "dimmed" : undefined}
          >
            {columns.map(({ title, cell, kind = "text" }) =>
              kind === "main" ? (
                <th key={title} role="rowheader" scope="row" class={kind}>
                  {cell(row)}
                </th>
              ) : (
                <td
                  key={title}
                  role="cell"
                  class={kind}
                  data-title={UNTITLED.includes(kind) ? undefined : title}
                >
                  <div>{cell(row)}</div>
                </td>
              ),
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
