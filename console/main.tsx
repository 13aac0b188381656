// Entry point: renders the console into the page.
import { render } from "preact";
import { App } from "./app.tsx";
import { watchConnection } from "./state/connection.ts";

const root = document.getElementById("console");
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
  watchConnection();
}
