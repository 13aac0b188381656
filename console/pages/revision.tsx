// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function RevisionPage(): JSX.Element {
  return <Page title="Revision">To come.</Page>;
}
