// “Test connection” of a target, with the result of each check beside the button.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, toError } from "../api/client.ts";
import type { ConnectionTest, TargetInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Icon, type IconName } from "../components/icon.tsx";

type Check = ConnectionTest["checks"][number];

const LABELS: Readonly<Record<Check["check"], string>> = {
  address: "Address",
  tls: "TLS",
  response: "Response",
  credential: "Credential",
};
/** The message of a check that was not made says so. */
const RESULTS: Readonly<Record<Check["result"], { readonly label: string; readonly icon: IconName }>> = {
  passed: { label: " passed.", icon: "done" },
  failed: { label: " failed.", icon: "warning" },
  not_checked: { label: ".", icon: "explain" },
};

interface TestConnectionProps {
  readonly gateway: string;
  /** The stored upstream, which masked secrets refer to; undefined for a new one. */
  readonly upstreamId: string | undefined;
  readonly target: TargetInput;
}

interface Outcome {
  /** The target that was tested, as JSON. */
  readonly tested: string;
  readonly result: ConnectionTest | Error;
}

export function TestConnection({ gateway, upstreamId, target }: TestConnectionProps): JSX.Element {
  const [isBusy, setBusy] = useState(false);
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const tested = JSON.stringify(target);
  const path = `/gateways/${encodeURIComponent(gateway)}/test-connection`;
  const run = async () => {
    setBusy(true);
    setOutcome(null);
    try {
      const body = { ...(upstreamId !== undefined && { upstream_id: upstreamId }), target };
      setOutcome({ tested, result: (await call<ConnectionTest>("POST", path, { body })).data });
    } catch (error) {
      setOutcome({ tested, result: toError(error) });
    } finally {
      setBusy(false);
    }
  };
  return (
    <div class="test-connection">
      <Button
        isBusy={isBusy}
        onClick={() => void run()}
        operation="POST /gateways/{gateway_id}/test-connection"
      >
        Test connection
      </Button>
      <div role="status" class="test-result">
        {outcome !== null && outcome.tested !== tested && (
          <p class="hint">The target was changed after this test.</p>
        )}
        {outcome !== null && <Result result={outcome.result} />}
      </div>
    </div>
  );
}

function Result({ result }: { readonly result: ConnectionTest | Error }): JSX.Element {
  if (result instanceof Error) return <p class="error">{messageOf(result)}</p>;
  const { ok, duration_ms, checks } = result;
  return (
    <>
      <p>
        <strong>{ok ? "The connection works" : "The connection does not work"}</strong>{" "}
        <span class="muted">
          GET <span class="mono">{result.url}</span>, {Math.round(duration_ms)} ms
        </span>
      </p>
      <ul class="checks">
        {checks.map(({ check, result: outcome, message }) => (
          <li key={check} class={outcome}>
            <Icon name={RESULTS[outcome].icon} />
            <span>
              <span class="check-name">
                {LABELS[check]}
                {RESULTS[outcome].label}
              </span>{" "}
              {message}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** The fields of the target are next to the button, so the path within it is enough. */
function messageOf(error: Error): string {
  if (!(error instanceof ApiError) || error.details.length === 0) return error.message;
  const details = error.details.map(({ path, message }) => `${path.replace(/^target\.?/, "")} ${message}`);
  return `Not tested: ${details.join("; ")}.`;
}
