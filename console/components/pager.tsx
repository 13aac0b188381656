// Buttons for the pages of a list that the API returns in parts.
import type { JSX } from "preact";
import { Button } from "./button.tsx";

interface PagerProps {
  readonly offset: number;
  readonly limit: number;
  /** Number of all records. */
  readonly count: number;
  readonly onChange: (offset: number) => void;
}

export function Pager({ offset, limit, count, onChange }: PagerProps): JSX.Element | null {
  if (count <= limit && offset === 0) return null;
  return (
    <nav class="pager" aria-label="Pages of the list">
      <Button isDisabled={offset === 0} onClick={() => onChange(Math.max(0, offset - limit))}>
        Newer
      </Button>
      <span class="muted">
        {offset + 1}–{Math.min(offset + limit, count)} of {count}
      </span>
      <Button isDisabled={offset + limit >= count} onClick={() => onChange(offset + limit)}>
        Older
      </Button>
    </nav>
  );
}
