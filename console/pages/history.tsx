// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function HistoryPage(): JSX.Element {
  return <Page title="History">To come.</Page>;
}
