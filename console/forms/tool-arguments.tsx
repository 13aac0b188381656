// Arguments of a tool call: a form that is generated from the input schema of the tool, or JSON.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { isRecord } from "../state/mcp-messages.ts";
import type { OfferedTool } from "../state/tool-playground.ts";
import type { FieldSource } from "./field.tsx";
import { initialValue } from "./json-schema.ts";
import { JsonField } from "./json-field.tsx";
import { SchemaFields } from "./schema-field.tsx";
import { toolFormSchema } from "./tool-schema.ts";

const PATH = "arguments";

interface ToolArgumentsProps {
  readonly form: FieldSource;
  readonly tool: OfferedTool;
}

/** Keyed by the tool: the editor of JSON keeps its text. */
export function ToolArguments({ form, tool }: ToolArgumentsProps): JSX.Element {
  const [isJson, setJson] = useState(false);
  const schema = toolFormSchema(tool.inputSchema);
  const problem = problemOfArguments(form.get(PATH));
  const isForm = schema !== null && !isJson;
  return (
    <fieldset class="field field-box">
      <legend>Arguments</legend>
      <div class="fields">
        {schema === null ? (
          <p class="hint">The input schema of this tool cannot be shown as a form.</p>
        ) : (
          <label class="check">
            <input
              type="checkbox"
              checked={isJson}
              // A form cannot show text that is no JSON object.
              disabled={isJson && problem !== null}
              onChange={(event) => setJson(event.currentTarget.checked)}
            />
            <span>Edit as JSON</span>
          </label>
        )}
        {isForm ? (
          <div class="fields">
            <SchemaFields form={form} path={PATH} schema={schema} root={schema} />
            {Object.keys(schema.properties ?? {}).length === 0 && (
              <p class="hint">The tool takes no arguments.</p>
            )}
          </div>
        ) : (
          <JsonField
            form={
              problem === null
                ? form
                : { ...form, errorsAt: (path) => (path === PATH ? [problem] : form.errorsAt(path)) }
            }
            path={PATH}
            label="Arguments as JSON"
            rows={8}
          />
        )}
        <details class="disclosure">
          <summary>Input schema</summary>
          <pre class="body" tabIndex={0} aria-label="Input schema">
            {JSON.stringify(tool.inputSchema, null, 2)}
          </pre>
        </details>
      </div>
    </fieldset>
  );
}

/** Returns what is wrong with the arguments; null if they can be sent. */
export function problemOfArguments(given: unknown): string | null {
  if (given === undefined || isRecord(given)) return null;
  return typeof given === "string" ? "Not sent, because the JSON is invalid." : "Must be an object: { … }.";
}

/** Returns the arguments that a newly selected tool begins with. */
export function initialArguments({ inputSchema }: OfferedTool): unknown {
  const schema = toolFormSchema(inputSchema);
  return (schema === null ? undefined : initialValue(schema, schema)) ?? {};
}
