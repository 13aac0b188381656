// The part of a list that is shown, and buttons for the other pages of it. The page is part of the address.
import type { JSX } from "preact";
import { replaceSearch } from "../state/router.tsx";
import { Button } from "./button.tsx";
import { formatCount } from "./format.tsx";

export const PAGE_SIZE = 50;

/** Returns the page in the address, counted from 1. */
export function pageIn(parameters: URLSearchParams): number {
  return Math.max(1, Math.floor(Number(parameters.get("page") ?? 1)) || 1);
}

interface PagesProps {
  /** Counted from 1. */
  readonly page: number;
  readonly pageSize?: number;
  /** Number of rows on this page. */
  readonly shown: number;
  /** Number of rows on all pages. */
  readonly count: number;
}

export function Pages({ page, pageSize = PAGE_SIZE, shown, count }: PagesProps): JSX.Element {
  const first = (page - 1) * pageSize;
  const open = (next: number) => {
    replaceSearch({ page: next === 1 ? null : String(next) });
    scrollTo(0, 0);
  };
  return (
    <nav class="pages" aria-label="Pages of the list">
      <p role="status">
        {shown === 0 ? "0" : `${formatCount(first + 1)}–${formatCount(first + shown)}`} of{" "}
        {formatCount(count)}
      </p>
      {(count > pageSize || page > 1) && (
        <>
          <Button isDisabled={page === 1} onClick={() => open(page - 1)}>
            Previous page
          </Button>
          <Button isDisabled={first + pageSize >= count} onClick={() => open(page + 1)}>
            Next page
          </Button>
        </>
      )}
    </nav>
  );
}
