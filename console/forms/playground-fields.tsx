// Settings of the playground: rule, API key, models, system prompt, parameters, and tools.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button } from "../components/button.tsx";
import { EXAMPLE_TOOLS, problemOfTools } from "../state/conversation.ts";
import type { Form } from "../state/form.ts";
import {
  chatPathOf,
  modelsFor,
  problemOfFurther,
  type Draft,
  type PlaygroundData,
} from "../state/playground.ts";
import { StringListField } from "./collections.tsx";
import { CheckboxField, NumberField, TextAreaField, TextField } from "./inputs.tsx";
import { JsonField } from "./json-field.tsx";
import { RuleAndKeyFields } from "./rule-and-key-fields.tsx";

interface PlaygroundFieldsProps {
  readonly gateway: string;
  readonly form: Form<Draft>;
  readonly data: PlaygroundData;
  readonly onKeyCreated: () => void;
}

export function PlaygroundFields(props: PlaygroundFieldsProps): JSX.Element {
  const { form, data } = props;
  const models = modelsFor(form.value.rule, data);
  return (
    <div class="card fields">
      <RuleAndKeyFields {...props} pathOf={chatPathOf} />
      <div class="fields inline narrow">
        <ModelField form={form} path="model" label="Model" models={models} />
        {form.value.isCompared && (
          <ModelField form={form} path="secondModel" label="Second model" models={models} />
        )}
      </div>
      <CheckboxField form={form} path="isCompared" label="Compare two models" />
      <TextAreaField
        form={form}
        path="system"
        label="System prompt"
        rows={3}
        placeholder="You are a helpful assistant."
      />
      <CheckboxField form={form} path="isStreamed" label="Stream the response" />
      <Parameters form={form} />
      <Tools form={form} />
    </div>
  );
}

interface ModelFieldProps {
  readonly form: Form<Draft>;
  readonly path: string;
  readonly label: string;
  readonly models: readonly string[];
}

function ModelField({ models, ...props }: ModelFieldProps): JSX.Element {
  return <TextField {...props} isMono suggestions={models} placeholder="Target default" />;
}

function Parameters({ form }: { readonly form: Form<Draft> }): JSX.Element {
  return (
    <details class="disclosure">
      <summary>Parameters</summary>
      <div class="fields">
        <div class="fields inline narrow">
          <NumberField form={form} path="temperature" label="Temperature" placeholder="Default" />
          <NumberField form={form} path="topP" label="Top p" placeholder="Default" />
          <NumberField form={form} path="maxTokens" label="Maximum tokens" placeholder="No limit" />
        </div>
        <StringListField form={form} path="stop" label="Stop sequences" hint="One per line." />
        <JsonField
          form={withProblem(form, "further", problemOfFurther(form.value.further))}
          path="further"
          label="Further fields"
          rows={3}
          hint='JSON that is added to the request, such as {"reasoning_effort": "low"}.'
        />
      </div>
    </details>
  );
}

function Tools({ form }: { readonly form: Form<Draft> }): JSX.Element {
  // The editor keeps its text, so that a new one is needed for another value.
  const [version, setVersion] = useState(0);
  const use = (tools: unknown) => {
    form.set("tools", tools);
    setVersion(version + 1);
  };
  return (
    <details class="disclosure">
      <summary>Tools</summary>
      <div class="fields">
        <JsonField
          key={version}
          form={withProblem(form, "tools", problemOfTools(form.value.tools))}
          path="tools"
          label="Tools"
          hint="JSON list of functions that the model may call. You enter what they return."
        />
        <div class="actions">
          <Button onClick={() => use(EXAMPLE_TOOLS)}>Insert example</Button>
          <Button onClick={() => use(undefined)}>Remove all</Button>
        </div>
      </div>
    </details>
  );
}

/** Shows a problem that was found in the page like a message of the API. */
function withProblem(form: Form<Draft>, path: string, problem: string | null): Form<Draft> {
  if (problem === null) return form;
  return { ...form, errorsAt: (at) => (at === path ? [problem] : form.errorsAt(at)) };
}
