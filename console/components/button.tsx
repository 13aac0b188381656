// Buttons, and the button that copies a text.
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import { Link } from "../state/router.tsx";
import { Icon, type IconName } from "./icon.tsx";

export type ButtonKind = "plain" | "primary" | "danger" | "quiet";

export interface ButtonProps {
  readonly children: ComponentChildren;
  readonly kind?: ButtonKind;
  readonly icon?: IconName;
  readonly onClick?: () => void;
  readonly submit?: boolean;
  readonly isBusy?: boolean;
  readonly isDisabled?: boolean;
  readonly isPressed?: boolean;
  /** Where the words on it do not say enough. */
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

export interface IconButtonProps {
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

export interface LinkButtonProps {
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

const SAID_MS = 1500;

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }): JSX.Element {
  const [state, setState] = useState<"ready" | "copied" | "failed">("ready");
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setState("copied"),
      () => setState("failed"),
    );
    setTimeout(() => setState("ready"), SAID_MS);
  };
  const words = { ready: "Copy", copied: "Copied", failed: "Not allowed" }[state];
  return (
    <button type="button" class="button quiet small" onClick={copy} aria-label={`${words}: ${what}`}>
      <Icon name={state === "copied" ? "done" : "copy"} />
      {words}
    </button>
  );
}
