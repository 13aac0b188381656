// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function FirstRunPage(): JSX.Element {
  return <Page title="FirstRun">To come.</Page>;
}
