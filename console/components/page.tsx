// The frame of a page: its heading (which gets the focus when the page opens), what it is for, and what can be done on it.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Loaded } from "../state/load.ts";
import { Link } from "../state/router.tsx";
import { LoadFault, Loading } from "./notice.tsx";

export interface PageProps {
  readonly title: string;
  /** One sentence for someone who never saw it. */
  readonly about?: ComponentChildren;
  readonly back?: { readonly to: string; readonly label: string };
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
  readonly isWide?: boolean;
}

export function Page({ title, about, back, actions, children, isWide = false }: PageProps): JSX.Element {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Gatehouse`;
  }, [title]);
  useEffect(() => {
    // Keyboard and screen reader go on from the new page, not from the link that was followed.
    if (document.activeElement?.closest("main, nav") !== null || document.activeElement === document.body)
      heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <article class={isWide ? "page wide" : "page"}>
      <header class="page-head">
        <div>
          {back !== undefined && (
            <p class="back">
              <Link to={back.to}>← {back.label}</Link>
            </p>
          )}
          <h1 tabIndex={-1} ref={heading}>
            {title}
          </h1>
          {about !== undefined && <p class="about">{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </article>
  );
}

export interface WhenLoadedProps<T> {
  readonly loaded: Loaded<T>;
  readonly what: string;
  readonly missing?: string;
  readonly children: (data: T) => ComponentChildren;
}

/**
 * Draws what was loaded; before that progress, and where it failed the reason and a way on. What was drawn stays while it
 * is loaded again, whatever comes of that: there may be a half-filled form in it.
 */
export function WhenLoaded<T>({ loaded, what, missing, children }: WhenLoadedProps<T>): JSX.Element {
  const { data, error, reload } = loaded;
  return (
    <>
      {error !== undefined && <LoadFault error={error} retry={reload} missing={missing} />}
      {data !== undefined && children(data)}
      {data === undefined && error === undefined && <Loading what={what} />}
    </>
  );
}

export interface SectionProps {
  readonly title: string;
  readonly about?: ComponentChildren;
  readonly actions?: ComponentChildren;
  readonly children: ComponentChildren;
}

export function Section({ title, about, actions, children }: SectionProps): JSX.Element {
  return (
    <section class="section">
      <header class="section-head">
        <div>
          <h2>{title}</h2>
          {about !== undefined && <p class="about">{about}</p>}
        </div>
        {actions !== undefined && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}
