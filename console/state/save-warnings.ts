// Warnings of the API about the record that was saved last. They are shown until the user opens another page.
import { effect, signal } from "@preact/signals";
import { route } from "./router.tsx";

/** What is legal in a record, but probably wrong. */
export interface Warning {
  /** Field of the record. */
  readonly path: string;
  readonly message: string;
}

interface SaveWarnings {
  /** Of the record, such as “rule “/v1/*””. */
  readonly title: string;
  readonly warnings: readonly Warning[];
}

export const saveWarnings = signal<SaveWarnings | null>(null);
let shownAt = "";

/** Call it when the page that is shown after saving is open. */
export function showSaveWarnings(title: string, warnings: readonly Warning[] = []): void {
  shownAt = route.peek().path;
  saveWarnings.value = warnings.length === 0 ? null : { title, warnings };
}

effect(() => {
  if (route.value.path !== shownAt) saveWarnings.value = null;
});
