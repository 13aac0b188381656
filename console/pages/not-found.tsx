// Page for unknown console paths.
import type { JSX } from "preact";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";

export function NotFoundPage(): JSX.Element {
  return (
    <Page title="Page not found">
      <Empty title="No page at this address" action={<LinkButton to="/">Go to overview</LinkButton>}>
        The page may have been moved, or the address contains a typo.
      </Empty>
    </Page>
  );
}
