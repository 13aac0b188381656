// The part of a list that is shown, and buttons for the other pages of it.
import type { JSX } from "preact";
import { replaceSearch } from "../state/router.tsx";
import { Button } from "./button.tsx";
import { formatCount } from "./format.tsx";

export const PAGE_SIZE = 50;

interface PagesProps {
  readonly page: number;
  readonly shown: number;
  readonly count: number;
}

export function Pages({ page, shown, count }: PagesProps): JSX.Element {
  const first = (page - 1) * PAGE_SIZE;
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
      {count > PAGE_SIZE && (
        <>
          <Button isDisabled={page === 1} onClick={() => open(page - 1)}>
            Previous page
          </Button>
          <Button isDisabled={first + shown >= count} onClick={() => open(page + 1)}>
            Next page
          </Button>
        </>
      )}
    </nav>
  );
}
