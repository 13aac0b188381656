// Highlighted messages, empty states, load errors, and the loading indicator.
import type { ComponentChildren, JSX } from "preact";
import { ApiError, ConnectionError } from "../api/client.ts";
import { Icon, type IconName } from "./icon.tsx";

interface NoticeProps {
  readonly kind: "info" | "warning" | "error" | "good";
  readonly children: ComponentChildren;
}

export function Notice({ kind, children }: NoticeProps): JSX.Element {
  const icon: IconName = kind === "good" ? "done" : kind === "info" ? "explain" : "warning";
  return (
    <div class={`notice ${kind}`} role={kind === "error" ? "alert" : "status"}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** Button for the next step. */
  readonly action?: ComponentChildren;
}

export function Empty({ title, children, action }: EmptyProps): JSX.Element {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children !== undefined && <p>{children}</p>}
      {action !== undefined && <div class="actions">{action}</div>}
    </div>
  );
}

interface LoadErrorProps {
  readonly error: Error;
  readonly retry: () => void;
}

export function LoadError({ error, retry }: LoadErrorProps): JSX.Element {
  if (error instanceof ApiError && error.status === 404)
    return <Empty title="Not found">{error.message}</Empty>;
  // The banner reports that the gateway does not respond, once for all parts of the page.
  if (error instanceof ConnectionError)
    return <p class="muted">This is loaded when the gateway responds again.</p>;
  return (
    <Notice kind="error">
      <p>{error.message}</p>
      <button type="button" class="button small" onClick={retry}>
        Retry
      </button>
    </Notice>
  );
}

export function Loading({ what }: { readonly what: string }): JSX.Element {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> Loading {what}…
    </p>
  );
}
