// Theme and density, stored in this browser. appearance-start.ts applies them before the page is painted.
import { signal } from "@preact/signals";

type Preference = "theme" | "density";

/** Counts changes of the theme. Charts, which are drawn with colors of the moment, are drawn again. */
export const themeChanges = signal(0);

/** Returns the stored value, or an empty string for the default (system theme, comfortable density). */
export function preference(name: Preference): string {
  return document.documentElement.dataset[name] ?? "";
}

export function setPreference(name: Preference, value: string): void {
  if (value === "") {
    localStorage.removeItem(`gatehouse.${name}`);
    document.documentElement.removeAttribute(`data-${name}`);
  } else {
    localStorage.setItem(`gatehouse.${name}`, value);
    document.documentElement.dataset[name] = value;
  }
  if (name === "theme") themeChanges.value++;
}
