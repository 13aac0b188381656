// A page, or a part of one, whose code is loaded when it is shown for the first time.
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RoutedPageProps } from "../state/router.tsx";
import { Loading, Notice } from "./notice.tsx";

/** Returns a component that shows the loaded page. */
export function lazyPage(
  load: () => Promise<ComponentType<RoutedPageProps>>,
): ComponentType<RoutedPageProps> {
  return lazyComponent(load);
}

/** Returns a component that shows the loaded one. */
export function lazyComponent<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): ComponentType<Props> {
  let LoadedPage: ComponentType<Props> | undefined;
  return function LazyPage(props: Props): JSX.Element {
    const [state, setState] = useState<"loading" | "loaded" | "failed">("loading");
    useEffect(() => {
      if (LoadedPage !== undefined) return;
      load().then(
        (page) => {
          LoadedPage = page;
          setState("loaded");
        },
        () => setState("failed"),
      );
    }, []);
    if (LoadedPage !== undefined) return <LoadedPage {...props} />;
    return state === "failed" ? <LoadFailure /> : <Loading what="the page" />;
  };
}

/** A new version of the gateway has files with other names, and the page that was loaded before does not know them. */
function LoadFailure(): JSX.Element {
  return (
    <Notice kind="error">
      <p>This page could not be loaded. The gateway may have been updated. Reload the console.</p>
      <button type="button" class="button small" onClick={() => location.reload()}>
        Reload
      </button>
    </Notice>
  );
}
