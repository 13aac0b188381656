// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function OverviewPage(): JSX.Element {
  return <Page title="Overview">To come.</Page>;
}
