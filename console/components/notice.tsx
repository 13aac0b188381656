// Sentences that stand out: a fault, a warning, something to know; and what a page says when there is nothing to show.
import type { ComponentChildren, JSX } from "preact";
import { ApiError } from "../api/client.ts";
import { Icon, type IconName } from "./icon.tsx";

export interface NoticeProps {
  readonly kind: "info" | "warning" | "fault" | "good";
  readonly children: ComponentChildren;
}

export function Notice({ kind, children }: NoticeProps): JSX.Element {
  const icon: IconName = kind === "good" ? "done" : kind === "info" ? "explain" : "warning";
  return (
    <div class={`notice ${kind}`} role={kind === "fault" ? "alert" : "status"}>
      <Icon name={icon} />
      <div>{children}</div>
    </div>
  );
}

export interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  /** What to do about it. */
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

export interface LoadFaultProps {
  readonly error: Error;
  readonly retry: () => void;
  /** Said instead where this gateway's API does not have the part that the page needs. */
  readonly missing?: string | undefined;
}

export function LoadFault({ error, retry, missing }: LoadFaultProps): JSX.Element {
  if (error instanceof ApiError && error.status === 404 && missing !== undefined) {
    const isUnknownPath = error.message.startsWith("There is nothing at");
    return (
      <Empty title={isUnknownPath ? "Not part of this gateway" : "Not there"}>
        {isUnknownPath ? missing : error.message}
      </Empty>
    );
  }
  return (
    <Notice kind="fault">
      <p>{error.message}</p>
      <button type="button" class="button small" onClick={retry}>
        Try again
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
