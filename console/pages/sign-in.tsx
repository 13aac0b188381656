// Signing in by pasting the admin token; also over an open page, when the token was refused meanwhile.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { isAccepted } from "../api/client.ts";
import { Banner } from "../components/banner.tsx";
import { Button } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Icon } from "../components/icon.tsx";
import { signIn, signOut } from "../state/session.ts";

const COMMAND = "scripts/generate_jwt_token.sh";

export function SignInPage(): JSX.Element {
  return (
    <main class="sign-in">
      <Banner />
      <div class="sign-in-box">
        <h1>
          <Icon name="gateways" /> Gatehouse
        </h1>
        <p class="about">The console of this gateway. Sign in with an admin token.</p>
        <SignInForm />
        <details>
          <summary>Where do I get a token?</summary>
          <p>
            In the folder of the gateway, with the secret it was started with, run{" "}
            <code>gatehouse token</code> or:
          </p>
          <Code text={COMMAND} what="the command that prints a token" />
          <p class="hint">
            It prints a token that is good for 24 hours. The token stays in this tab and is forgotten with it.
          </p>
        </details>
      </div>
    </main>
  );
}

/** The page stays open underneath: what was typed there is still there afterwards. */
export function SignInAgain(): JSX.Element {
  return (
    <Dialog title="Sign in again" onClose={signOut}>
      <p>The gateway no longer accepts the token. What you were doing is kept.</p>
      <SignInForm />
    </Dialog>
  );
}

function SignInForm(): JSX.Element {
  const [text, setText] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    const candidate = text.trim().replace(/^Bearer\s+/i, "");
    if (candidate === "") {
      setFault("Paste a token first.");
      return;
    }
    setBusy(true);
    try {
      if (await isAccepted(candidate)) signIn(candidate);
      else
        setFault(
          "The gateway does not accept this token. Was it made with this server's secret, and is it still good?",
        );
    } catch {
      setFault("The gateway does not answer. Try again in a moment.");
    }
    setBusy(false);
  };
  return (
    <form
      class="sign-in-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <div class={fault === null ? "field" : "field invalid"}>
        <label for="token">Admin token</label>
        <input
          id="token"
          class="input mono"
          type="password"
          autocomplete="off"
          autofocus
          value={text}
          aria-invalid={fault !== null}
          aria-describedby={fault === null ? undefined : "token-fault"}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setFault(null);
          }}
        />
        {fault !== null && (
          <p class="fault" id="token-fault" role="alert">
            {fault}
          </p>
        )}
      </div>
      <Button submit kind="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  );
}
