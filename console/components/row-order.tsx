// Moves rows of a list of records while it is sorted by their order.
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { toError } from "../api/client.ts";
import type { ListPage } from "../api/resources.ts";
import { mayCall } from "../state/administrator.ts";
import { showToast } from "../state/dialogs.ts";
import type { Loaded } from "../state/load.ts";
import { replaceSearch } from "../state/router.tsx";
import { Button } from "./button.tsx";
import { useReorder, type ItemProps } from "./reorder.tsx";
import type { Column } from "./table.tsx";

export interface RowOrder<Row> {
  /** The order in which rows can be moved, as in the address. */
  readonly sort: string;
  /** Method and path of a move. Without the right to call it, rows cannot be moved. */
  readonly operation: string;
  /** Moves a row directly before or after another one. Resolves to its changed fields. */
  readonly move: (row: Row, place: "before" | "after", other: Row) => Promise<Partial<Row>>;
}

interface OrderedRows<Row> {
  readonly rows: readonly Row[];
  /** The column and the attributes of rows that can be moved; null if they cannot. */
  readonly moving: { readonly column: Column<Row>; readonly rowProps: (row: Row) => ItemProps } | null;
}

interface Options<Row> {
  readonly order?: RowOrder<Row>;
  readonly keyOf: (row: Row) => string;
  readonly nameOf: (row: Row) => string;
}

export function useRowOrder<Row>(
  { order, keyOf, nameOf }: Options<Row>,
  loaded: Loaded<ListPage<Row>>,
  sort: string,
): OrderedRows<Row> {
  const { data } = loaded;
  const [moved, setMoved] = useState<{ readonly from: unknown; readonly rows: readonly Row[] } | null>(null);
  // The list shows a move until it has loaded the stored order.
  const rows = moved !== null && moved.from === data ? moved.rows : (data?.rows ?? []);
  // The list may be loaded again while a row is moved.
  const latest = useRef({ data, rows });
  latest.current = { data, rows };
  const onMove = async (from: number, to: number) => {
    const [row, other] = [rows[from], rows[to]];
    if (order === undefined || row === undefined || other === undefined) return;
    const place = to < from ? "before" : "after";
    try {
      const changed = { ...row, ...(await order.move(row, place, other)) };
      const others = latest.current.rows.filter((each) => keyOf(each) !== keyOf(row));
      const index = others.findIndex((each) => keyOf(each) === keyOf(other));
      setMoved({
        from: latest.current.data,
        rows: others.toSpliced(place === "before" ? index : index + 1, 0, changed),
      });
      showToast(`Moved ${nameOf(row)} ${place} ${nameOf(other)}.`);
    } catch (error) {
      showToast(toError(error).message, "error");
    }
    loaded.reload();
  };
  const reorder = useReorder({
    mayMove: (from, to) => rows[from] !== undefined && rows[to] !== undefined,
    onMove,
    nameOf: (index) =>
      rows
        .slice(index, index + 1)
        .map(nameOf)
        .join(""),
  });
  const isMoving = order !== undefined && order.sort === sort && rows.length > 1 && mayCall(order.operation);
  if (!isMoving) return { rows, moving: null };
  return {
    rows,
    moving: {
      rowProps: (row) => reorder.itemProps(rows.indexOf(row)),
      column: { title: "Order", kind: "order", cell: (row) => reorder.controls(rows.indexOf(row)) },
    },
  };
}

/** Sorts the list so that its rows can be moved, and back. */
export function OrderButton<Row>({
  order: { sort, operation },
  current,
}: {
  readonly order: RowOrder<Row>;
  readonly current: string;
}): JSX.Element | null {
  if (!mayCall(operation)) return null;
  const isOn = current === sort;
  return (
    <Button isPressed={isOn} onClick={() => replaceSearch({ sort: isOn ? null : sort, page: null })}>
      Change order
    </Button>
  );
}
