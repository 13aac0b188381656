// Buttons, links that look like buttons, and the copy button.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
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
}

export function Button(props: ButtonProps): JSX.Element {
  const { children, kind = "plain", icon, onClick, submit = false, isBusy = false } = props;
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
}

export function IconButton({ icon, label, onClick }: IconButtonProps): JSX.Element {
  return (
    <button type="button" class="button quiet icon-only" onClick={onClick} aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

interface LinkButtonProps {
  readonly to: string;
  readonly children: ComponentChildren;
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
}

export function LinkButton({ to, children, kind = "plain", icon }: LinkButtonProps): JSX.Element {
  return (
    <Link to={to} class={`button ${kind}`}>
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
