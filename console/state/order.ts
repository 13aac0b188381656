// Changes the order of items whose order is given by numbers: the numbers stay where they are, and the items move.

/** Returns the list with the item at `from` moved to `to`. */
export function moveItem<T>(list: readonly T[], from: number, to: number): T[] {
  const next = list.filter((_, index) => index !== from);
  next.splice(to, 0, ...list.slice(from, from + 1));
  return next;
}

/** Like `moveItem`; the item at each position gets the priority that this position had. */
export function moveWithPriorities<T extends { readonly priority?: number | undefined }>(
  list: readonly T[],
  from: number,
  to: number,
): T[] {
  return moveItem(list, from, to).map((item, index) => {
    const priority = list[index]?.priority;
    return priority === undefined ? item : { ...item, priority };
  });
}

/**
 * Moves an entry within those at `positions`, which are in run order. Entries of equal priority run in the order of the list,
 * so the moved ones also change places in it.
 */
export function moveAmong<T extends { readonly priority?: number | undefined }>(
  list: readonly T[],
  positions: readonly number[],
  from: number,
  to: number,
): T[] {
  const entries = positions.flatMap((position) => list.slice(position, position + 1));
  const moved = moveWithPriorities(entries, from, to);
  const places = positions.toSorted((a, b) => a - b);
  return list.map((entry, index) => moved[places.indexOf(index)] ?? entry);
}
