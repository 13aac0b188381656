// Whether the command palette is open. Ctrl-K and Cmd-K open it on every page.
import { signal } from "@preact/signals";
import { me, onSignOut } from "./session.ts";

export const isPaletteOpen = signal(false);

document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
  if (event.altKey || event.shiftKey || me.value === null) return;
  event.preventDefault();
  // A dialog that is open waits for a decision.
  if (isPaletteOpen.value || document.querySelector("dialog[open]") === null)
    isPaletteOpen.value = !isPaletteOpen.value;
});

onSignOut(() => (isPaletteOpen.value = false));
