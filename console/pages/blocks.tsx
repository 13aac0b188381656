// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function BlocksPage(): JSX.Element {
  return <Page title="Blocks">To come.</Page>;
}
