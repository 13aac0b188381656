// An address that leads nowhere.
import type { JSX } from "preact";
import { LinkButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page } from "../components/page.tsx";

export function NotFoundPage(): JSX.Element {
  return (
    <Page title="No such page">
      <Empty
        title="There is nothing at this address"
        action={<LinkButton to="/">To the overview</LinkButton>}
      >
        It may have been deleted, or the address is mistyped.
      </Empty>
    </Page>
  );
}
