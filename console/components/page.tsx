// Layout of a page: heading, description, actions, sections, and the states before its data is loaded.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ConnectionError } from "../api/client.ts";
import type { Loaded } from "../state/load.ts";
import { Link } from "../state/router.tsx";
import { saveWarnings } from "../state/save-warnings.ts";
import { LoadError, Loading, Notice } from "./notice.tsx";

interface PageProps {
  readonly title: string;
  /** One sentence that explains the page. */
  readonly description?: ComponentChildren;
  readonly back?: { readonly to: string; readonly label: string };
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

export function Page({
  title,
  description,
  back,
  actions,
  children,
  isWide = false,
}: PageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Gatehouse`;
  }, [title]);
  useEffect(() => {
    // Move the focus to the heading, so that keyboard and screen reader users continue at the new page.
    if (document.activeElement?.closest("main, nav") !== null || document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <article class={isWide ? "page wide" : "page"}>
      <header class="page-header">
        <div>
          {back !== undefined && (
            <p class="back">
              <Link to={back.to}>← {back.label}</Link>
            </p>
          )}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          {description !== undefined && <p class="description">{description}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      <SaveWarnings />
      {children}
    </article>
  );
}

function SaveWarnings(): JSX.Element | null {
  const saved = saveWarnings.value;
  if (saved === null) return null;
  return (
    <Notice kind="warning">
      <p>
        <strong>Saved {saved.title}, but it may not work as intended:</strong>
      </p>
      <ul>
        {saved.warnings.map(({ path, message }) => (
          <li key={path + message}>
            {path !== "" && <code>{path}</code>}
            {path !== "" && ": "}
            {message}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

interface WhenLoadedProps<T> {
  readonly loaded: Loaded<T>;
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
}

/**
 * Renders loaded data, a loading indicator, or the load error. Data stays rendered during a reload and after a failed one,
 * because it may contain a form with unsaved input.
 */
export function WhenLoaded<T>({ loaded, what, children }: WhenLoadedProps<T>): JSX.Element {
  const { data, error, reload } = loaded;
  return (
    <>
      {error !== undefined && !(data !== undefined && error instanceof ConnectionError) && (
        <LoadError error={error} retry={reload} />
      )}
      {data !== undefined && children(data)}
      {data === undefined && error === undefined && <Loading what={what} />}
    </>
  );
}

/** In place of the content of a page that the administrator may not see. */
export function Forbidden({ reason }: { readonly reason: string }): JSX.Element {
  return (
    <Notice kind="warning">
      <p>{reason} Ask an owner for a token with more rights.</p>
    </Notice>
  );
}

interface SectionProps {
  readonly title: string;
  readonly description?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, description, actions, children }: SectionProps): JSX.Element {
  return (
    <section class="section">
      <header class="section-header">
        <div>
          <h2>{title}</h2>
          {description !== undefined && <p class="description">{description}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
