// Choice of theme and density, in the sidebar.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { preference, setPreference } from "../state/appearance.ts";

const THEMES = [
  ["", "System"],
  ["light", "Light"],
  ["dark", "Dark"],
] as const;
const DENSITIES = [
  ["", "Comfortable"],
  ["compact", "Compact"],
] as const;

export function Appearance(): JSX.Element {
  return (
    <details class="appearance">
      <summary>Appearance</summary>
      <PreferenceSelect name="theme" label="Theme" choices={THEMES} />
      <PreferenceSelect name="density" label="Density" choices={DENSITIES} />
    </details>
  );
}

interface PreferenceSelectProps {
  readonly name: "theme" | "density";
  readonly label: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
}

function PreferenceSelect({ name, label, choices }: PreferenceSelectProps): JSX.Element {
  const [value, setValue] = useState(preference(name));
  return (
    <label>
      <span>{label}</span>
      <select
        class="input"
        value={value}
        onChange={(event) => {
          setPreference(name, event.currentTarget.value);
          setValue(event.currentTarget.value);
        }}
      >
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
