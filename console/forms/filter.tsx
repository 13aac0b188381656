// Filters of a list: a select, a text input that applies on blur or Enter, or a search that applies when typing pauses.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { SearchBox } from "../components/list-tools.tsx";

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  /** Label of the choice without a value. */
  readonly any?: string;
  readonly choices?: readonly (readonly [value: string, label: string])[];
}

export function Filter({ label, value, onChange, any = "Any", choices }: FilterProps): JSX.Element {
  return (
    <label class="filter">
      <span>{label}</span>
      {choices === undefined ? (
        <TextFilter value={value} onChange={onChange} />
      ) : (
        <select class="input" value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          <option value="">{any}</option>
          {choices.map(([each, name]) => (
            <option key={each} value={each}>
              {name}
            </option>
          ))}
        </select>
      )}
    </label>
  );
}

/** Keeps what is typed until it applies: a list that updates itself would otherwise write the applied value over it. */
function TextFilter({ value, onChange }: Pick<FilterProps, "value" | "onChange">): JSX.Element {
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <input
      class="input"
      value={typed ?? value}
      placeholder="Any"
      autocomplete="off"
      spellcheck={false}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onChange={(event) => {
        onChange(event.currentTarget.value.trim());
        setTyped(null);
      }}
      onBlur={() => setTyped(null)}
    />
  );
}

/** Searches the list that `what` names, as in "Search history". */
export function SearchFilter({
  what,
  value,
}: {
  readonly what: string;
  readonly value: string;
}): JSX.Element {
  return (
    <div class="filter">
      <span aria-hidden="true">Search</span>
      <SearchBox what={what} value={value} />
    </div>
  );
}
