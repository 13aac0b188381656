// Sign-in with an admin token: as a page, and as a dialog when the API rejects the token of the session.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { isTokenAccepted } from "../api/client.ts";
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
        <p class="description">Sign in with an admin token.</p>
        <SignInForm />
        <details>
          <summary>How do I get a token?</summary>
          <p>
            Run <code>gatehouse token</code> with the secret of this gateway, or in its directory:
          </p>
          <Code text={COMMAND} what="command" />
          <p class="hint">
            The token is valid for 24 hours. The console keeps it in this tab only, until the tab is closed.
          </p>
        </details>
      </div>
    </main>
  );
}

/** Opens over the current page, which keeps its unsaved input. */
export function SignInDialog(): JSX.Element {
  return (
    <Dialog title="Sign in again" onClose={signOut}>
      <p>The gateway no longer accepts your token. Your input on this page is kept.</p>
      <SignInForm />
    </Dialog>
  );
}

function SignInForm(): JSX.Element {
  const [text, setText] = useState("");
  const [error, setError] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    const candidate = text.trim().replace(/^Bearer\s+/i, "");
    if (candidate === "") {
      setError("Enter a token.");
      return;
    }
    setBusy(true);
    try {
      if (await isTokenAccepted(candidate)) signIn(candidate);
      else
        setError(
          "The gateway does not accept this token. Check that it was created with the secret of this server and has not expired.",
        );
    } catch {
      setError("The gateway does not respond. Try again in a moment.");
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
      <div class={error === null ? "field" : "field invalid"}>
        <label for="token">Admin token</label>
        <input
          id="token"
          class="input mono"
          type="password"
          autocomplete="off"
          autofocus
          value={text}
          aria-invalid={error !== null}
          aria-describedby={error === null ? undefined : "token-error"}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setError(null);
          }}
        />
        {error !== null && (
          <p class="error" id="token-error" role="alert">
            {error}
          </p>
        )}
      </div>
      <Button submit kind="primary" isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  );
}
