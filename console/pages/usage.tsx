// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function UsagePage(): JSX.Element {
  return <Page title="Usage">To come.</Page>;
}
