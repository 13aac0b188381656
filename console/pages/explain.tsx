// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function ExplainPage(): JSX.Element {
  return <Page title="Explain">To come.</Page>;
}
