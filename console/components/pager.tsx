// Buttons for the pages of a list that the API returns in parts.
import type { JSX } from "preact";
import { replaceSearch } from "../state/router.tsx";
import { Button } from "./button.tsx";

interface PagerProps {
  readonly offset: number;
  readonly limit: number;
  /** Number of all records. */
  readonly count: number;
}

/** The offset is part of the address of the page. */
export function Pager({ offset, limit, count }: PagerProps): JSX.Element | null {
  const open = (next: number) => replaceSearch({ offset: next === 0 ? null : String(next) });
  if (count <= limit && offset === 0) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <Button isDisabled={offset === 0} onClick={() => open(Math.max(0, offset - limit))}>
        Newer
      </Button>
      <span class="muted">
        {offset + 1}–{Math.min(offset + limit, count)} of {count}
      </span>
      <Button isDisabled={offset + limit >= count} onClick={() => open(offset + limit)}>
        Older
      </Button>
    </nav>
  );
}
