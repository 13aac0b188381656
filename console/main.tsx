// Starts the console in the page.
import { render } from "preact";
import { App } from "./app.tsx";
import { watchConnection } from "./state/connection.ts";

const place = document.getElementById("console");
if (place !== null) {
  place.replaceChildren();
  render(<App />, place);
  watchConnection();
}
