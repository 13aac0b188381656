// Sign-in with an admin token or with OpenID Connect: as a page, and as a dialog when the API rejects the session.
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { fetchMe } from "../api/client.ts";
import { Banner } from "../components/banner.tsx";
import { Button } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Icon } from "../components/icon.tsx";
import { findSession, type SignInConfiguration } from "../state/administrator.ts";
import { mayLeave } from "../state/router.tsx";
import { signIn, signOut } from "../state/session.ts";

const COMMAND = "scripts/generate_jwt_token.sh";

const TOKENS_ONLY: SignInConfiguration = { oidc: null, has_session: false };

export function SignInPage(): JSX.Element {
  const [configuration, setConfiguration] = useState<SignInConfiguration | null>(null);
  useEffect(() => {
    findSession().then(setConfiguration, () => setConfiguration(TOKENS_ONLY));
  }, []);
  // Nothing for the moment in which a session may be found, so that the form does not appear and disappear.
  if (configuration === null) return <main class="sign-in" aria-busy="true" />;
  return (
    <main class="sign-in">
      <Banner />
      <div class="sign-in-box">
        <h1>
          <Icon name="gateways" /> Gatehouse
        </h1>
        <p class="description">
          {configuration.oidc === null
            ? "Sign in with an admin token."
            : `Sign in with your account at ${new URL(configuration.oidc.issuer).host}, or with an admin token.`}
        </p>
        {configuration.oidc !== null && (
          <>
            <a class="button primary" href={oidcLink(configuration.oidc.sign_in_url)}>
              Sign in with OIDC
            </a>
            <p class="or">or</p>
          </>
        )}
        <SignInForm kind={configuration.oidc === null ? "primary" : "plain"} />
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

/** The provider sends the browser back to the current page. */
function oidcLink(url: string): string {
  return `${url}?return_to=${encodeURIComponent(location.pathname + location.search)}`;
}

/** Opens over the current page, which keeps its unsaved input. */
export function SignInDialog(): JSX.Element {
  const [oidc, setOidc] = useState<SignInConfiguration["oidc"]>(null);
  useEffect(() => {
    const check = () => {
      // After a sign-in in another tab, `findSession` begins the session here too, which closes this dialog.
      findSession().then(
        (found) => setOidc(found.oidc),
        () => undefined,
      );
    };
    check();
    addEventListener("focus", check);
    return () => removeEventListener("focus", check);
  }, []);
  return (
    <Dialog title="Sign in again" onClose={() => void signOutUnlessUnsaved()}>
      <p>The gateway no longer accepts your session. Your input on this page is kept.</p>
      {oidc !== null && (
        <p>
          <a class="button" href={oidc.sign_in_url} target="_blank" rel="noopener">
            Sign in with OIDC in a new tab
          </a>
        </p>
      )}
      <SignInForm kind="primary" />
    </Dialog>
  );
}

/** Closing the dialog ends the session, and with it the page below. */
async function signOutUnlessUnsaved(): Promise<void> {
  if (await mayLeave()) signOut();
}

function SignInForm({ kind }: { readonly kind: "primary" | "plain" }): JSX.Element {
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
      const administrator = await fetchMe(candidate);
      if (administrator !== null) signIn(candidate, administrator);
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
      <Button submit kind={kind} isBusy={isBusy}>
        Sign in
      </Button>
    </form>
  );
}
