// To come.
import type { JSX } from "preact";
import { Page } from "../components/page.tsx";

export function PlaygroundPage(): JSX.Element {
  return <Page title="Playground">To come.</Page>;
}
