// Buttons, links that look like buttons, and the copy button.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { mayCall, operationOfPath } from "../state/administrator.ts";
import { Link } from "../state/router.tsx";
import { Icon, type IconName } from "./icon.tsx";

type ButtonKind = "plain" | "primary" | "danger" | "quiet";

interface ButtonProps {
  readonly children: ComponentChildren;
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly onClick?: () => void;
  readonly submit?: boolean;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean;
  /** Accessible name, if the visible text is not specific enough. */
  readonly label?: string | undefined;
  /** Method and path that the button calls. It is hidden if the administrator may not call it. */
  readonly operation?: string;
}

export function Button(props: ButtonProps): JSX.Element | null {
  const { children, kind = "plain", icon, onClick, submit = false, isBusy = false } = props;
  if (props.operation !== undefined && !mayCall(props.operation)) return null;
  return (
    <button
      type={submit ? "submit" : "button"}
      class={`button ${kind}`}
      onClick={onClick}
      disabled={isBusy || props.isDisabled === true}
      aria-busy={isBusy}
      aria-pressed={props.isPressed}
      aria-label={props.label}
    >
      {isBusy ? <span class="spinner" aria-hidden="true" /> : icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly id?: string;
  readonly isDisabled?: boolean;
}

export function IconButton({ icon, label, onClick, id, isDisabled = false }: IconButtonProps): JSX.Element {
  return (
    <button
      type="button"
      id={id}
      class="button quiet icon-only"
      disabled={isDisabled}
      onClick={onClick}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} />
    </button>
  );
}

interface LinkButtonProps {
  readonly to: string;
  readonly children: ComponentChildren;
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  /** Accessible name, if the visible text is not specific enough. */
  readonly label?: string;
}

/** A link that looks like a button. It is hidden if it leads to a form that the administrator may not save. */
export function LinkButton({
  to,
  children,
  kind = "plain",
  icon,
  label,
}: LinkButtonProps): JSX.Element | null {
  const operation = operationOfPath(to);
  if (operation !== null && !mayCall(operation)) return null;
  return (
    <Link to={to} class={`button ${kind}`} label={label}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  );
}

const RESET_MS = 1500;

/** Copies a text; `what` names it, as in “Copy API key”. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
    setTimeout(() => setState("ready"), RESET_MS);
  };
  const label = { ready: "Copy", copied: "Copied", failed: "Copy failed" }[state];
  return (
    <button type="button" class="button quiet small" onClick={copy} aria-label={`${label} ${what}`}>
      <Icon name={state === "copied" ? "done" : "copy"} />
      {label}
    </button>
  );
}
