// List filter: a select, or a text input that applies on blur or Enter.
import type { JSX } from "preact";

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
        <input
          class="input"
          value={value}
          placeholder="Any"
          autocomplete="off"
          spellcheck={false}
          onChange={(event) => onChange(event.currentTarget.value.trim())}
        />
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
