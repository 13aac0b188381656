// Imports a document: from a file or pasted, checked first, then applied as one revision.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { ApiError, call, toError } from "../api/client.ts";
import type { Applied } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import { Code } from "../components/code.tsx";
import { ImportPlan } from "../components/import-plan.tsx";
import { Notice } from "../components/notice.tsx";
import { Section } from "../components/page.tsx";
import { activeRevision } from "../state/connection.ts";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { loadGateways } from "../state/gateways.ts";

interface Options {
  /** Delete the records that the document does not contain, in its gateways. */
  readonly prune: boolean;
  readonly pruneGateways: boolean;
}

interface Checked {
  /** What was checked: text and options. */
  readonly input: string;
  readonly plan: Applied;
  /** Version of the configuration that the plan is for; null if it is unknown. */
  readonly etag: string | null;
}

export function ImportForm(): JSX.Element {
  const [text, setText] = useState("");
  const [fileName, setFileName] = useState<string | null>(null);
  const [options, setOptions] = useState<Options>({ prune: false, pruneGateways: false });
  const [busy, setBusy] = useState<"check" | "apply" | null>(null);
  const [checked, setChecked] = useState<Checked | null>(null);
  const [applied, setApplied] = useState<Applied | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const input = JSON.stringify([text, options]);
  const plan = checked?.input === input ? checked.plan : null;

  const run = async (step: "check" | "apply", work: () => Promise<void>) => {
    setBusy(step);
    setError(null);
    setApplied(null);
    try {
      await work();
    } catch (thrown) {
      setChecked(null);
      setError(toError(thrown));
    } finally {
      setBusy(null);
    }
  };
  const check = () =>
    run("check", async () => {
      const { data } = await send(text, options, true);
      // The import is rejected if the configuration changes after this check.
      const etag = await call("GET", `/revisions/${data.revision}`).then(
        (newest) => newest.etag,
        () => null,
      );
      setChecked({ input, plan: data, etag });
    });
  const apply = async () => {
    const deleted = plan?.changes.filter(({ action }) => action === "delete").length ?? 0;
    if (deleted > 0 && !(await confirmDeletion(deleted))) return;
    await run("apply", async () => {
      const { data } = await send(text, options, false, checked?.etag);
      setChecked(null);
      setApplied(data);
      showToast(`Imported as revision ${data.revision}`);
      activeRevision.value = data.revision;
      await loadGateways();
    });
  };
  return (
    <Section
      title="Import"
      description="Checked first: nothing is changed before you apply it. A document changes the gateways that it contains, as one revision."
    >
      <div class="card fields">
        <DocumentFields
          text={text}
          fileName={fileName}
          onChange={(next, name) => {
            setText(next);
            setFileName(name);
          }}
        />
        <PruneFields options={options} onChange={setOptions} />
        <div class="actions">
          <Button
            kind={plan === null ? "primary" : "plain"}
            isBusy={busy === "check"}
            isDisabled={text.trim() === ""}
            onClick={() => void check()}
          >
            Check
          </Button>
          {plan !== null && plan.changes.some(({ action }) => action !== "none") && (
            <Button kind="primary" isBusy={busy === "apply"} onClick={() => void apply()}>
              Apply
            </Button>
          )}
        </div>
      </div>
      <div role="status">
        {error !== null && <ImportError error={error} />}
        {plan !== null && <ImportPlan plan={plan} />}
        {applied !== null && <ImportResult applied={applied} />}
      </div>
    </Section>
  );
}

function send(text: string, { prune, pruneGateways }: Options, isDryRun: boolean, etag?: string | null) {
  const query = `dry_run=${isDryRun}&prune=${prune}&prune_gateways=${pruneGateways}`;
  const type = text.trimStart().startsWith("{") ? "application/json" : "application/yaml";
  return call<Applied>("POST", `/apply?${query}`, { text, headers: { "Content-Type": type }, etag });
}

function confirmDeletion(count: number): Promise<boolean> {
  return confirmAction({
    title: `Delete ${count} ${count === 1 ? "record" : "records"}?`,
    text: "The document does not contain them. The plan lists them. Usage of deleted gateways is kept.",
    confirm: "Apply",
    isDangerous: true,
  });
}

interface DocumentFieldsProps {
  readonly text: string;
  readonly fileName: string | null;
  readonly onChange: (text: string, fileName: string | null) => void;
}

function DocumentFields({ text, fileName, onChange }: DocumentFieldsProps): JSX.Element {
  const read = async (files: FileList | null) => {
    const file = files?.[0];
    if (file !== undefined) onChange(await file.text(), file.name);
  };
  return (
    <>
      <div class="field">
        <label for="import-file">File</label>
        <input
          id="import-file"
          class="input"
          type="file"
          accept=".yaml,.yml,.json,application/yaml,application/json"
          onChange={(event) => void read(event.currentTarget.files)}
        />
      </div>
      <div class="field">
        <label for="import-text">Document</label>
        <textarea
          id="import-text"
          class="input mono"
          rows={10}
          spellcheck={false}
          placeholder={"gateways:\n  - name: my gateway\n    …"}
          value={text}
          onInput={(event) => onChange(event.currentTarget.value, null)}
        />
        <p class="hint">
          {fileName === null ? "Choose a file, or paste a document here." : `From ${fileName}.`}
        </p>
      </div>
    </>
  );
}

interface PruneFieldsProps {
  readonly options: Options;
  readonly onChange: (options: Options) => void;
}

function PruneFields({ options, onChange }: PruneFieldsProps): JSX.Element {
  return (
    <>
      <div class="field check">
        <label>
          <input
            type="checkbox"
            checked={options.prune}
            onChange={(event) => onChange({ ...options, prune: event.currentTarget.checked })}
          />
          Delete records that the document does not contain
        </label>
        <p class="hint">Only in the gateways of the document.</p>
      </div>
      <div class="field check">
        <label>
          <input
            type="checkbox"
            checked={options.pruneGateways}
            onChange={(event) => onChange({ ...options, pruneGateways: event.currentTarget.checked })}
          />
          Delete gateways that the document does not contain
        </label>
        <p class="hint">With all their records and usage.</p>
      </div>
    </>
  );
}

function ImportError({ error }: { readonly error: Error }): JSX.Element {
  const isConflict = error instanceof ApiError && error.status === 412;
  const details = error instanceof ApiError ? error.details : [];
  return (
    <Notice kind="error">
      <p>
        {isConflict
          ? "The configuration was changed after this check. Check the document again."
          : error.message}{" "}
        Nothing was imported.
      </p>
      {details.length > 0 && (
        <ul class="import-problems">
          {details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{path}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </Notice>
  );
}

function ImportResult({ applied }: { readonly applied: Applied }): JSX.Element {
  const keys = applied.changes.filter(({ key }) => key !== undefined);
  return (
    <Notice kind="good">
      <p>Imported as revision {applied.revision}.</p>
      {keys.length > 0 && (
        <p>
          New API keys. <strong>They are shown only once.</strong>
        </p>
      )}
      {keys.map(({ gateway, name, key = "" }) => (
        <div key={`${gateway}/${name}`}>
          <p>
            “{name}” of {gateway}
          </p>
          <Code text={key} what={`API key ${name}`} />
        </div>
      ))}
    </Notice>
  );
}
