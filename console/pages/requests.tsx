// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function RequestsPage(): JSX.Element {
  return <Page title="Requests">To come.</Page>;
}
