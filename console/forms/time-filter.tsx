// Filter by time: from and to, in the browser's time zone. The query parameters of the page are in UTC.
import type { JSX } from "preact";

interface TimeFilterProps {
  readonly label: string;
  /** ISO 8601 time; empty: any. */
  readonly value: string;
  readonly onChange: (value: string) => void;
}

export function TimeFilter({ label, value, onChange }: TimeFilterProps): JSX.Element {
  return (
    <label class="filter">
      <span>{label}</span>
      <input
        class="input"
        type="datetime-local"
        value={toLocalDateTime(value)}
        onChange={(event) => {
          const text = event.currentTarget.value;
          onChange(text === "" ? "" : new Date(text).toISOString());
        }}
      />
    </label>
  );
}

/** Formats a time for an input of type `datetime-local`. */
export function toLocalDateTime(time: string): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
