// The members of Gemini's content parts that are calls and results of tools. They have no type. Tools that Google runs have no name: a member of
// their own names them, or `toolType`.

export interface ToolPart {
  readonly isResult: boolean;
  /** Whether Google runs the tool. Then the result is in a message of the model. */
  readonly isHosted: boolean;
  /** The name of the tool; null if a member has it. */
  readonly tool: string | null;
  /** The member with the arguments or the result, in both spellings alike; null: all of the part. */
  readonly content: string | null;
}

/** A part with a tool that Google runs, in both spellings. */
export interface HostedPart extends ToolPart {
  readonly names: readonly [camelCase: string, snakeCase: string];
}

const CODE_EXECUTION = "code_execution";
const CALL: ToolPart = { isResult: false, isHosted: false, tool: null, content: "args" };
const RESULT: ToolPart = { isResult: true, isHosted: false, tool: null, content: "response" };

export const HOSTED_PARTS: readonly HostedPart[] = [
  {
    names: ["executableCode", "executable_code"],
    ...{ isResult: false, isHosted: true, tool: CODE_EXECUTION, content: null },
  },
  {
    names: ["codeExecutionResult", "code_execution_result"],
    ...{ isResult: true, isHosted: true, tool: CODE_EXECUTION, content: "output" },
  },
  { names: ["toolCall", "tool_call"], ...CALL, isHosted: true },
  { names: ["toolResponse", "tool_response"], ...RESULT, isHosted: true },
];

/** By the name of the member in lower case, in both spellings. */
export const TOOL_PARTS: ReadonlyMap<string, ToolPart> = new Map<string, ToolPart>([
  ["functioncall", CALL],
  ["function_call", CALL],
  ["functionresponse", RESULT],
  ["function_response", RESULT],
  ...HOSTED_PARTS.flatMap((part) => part.names.map((name) => [name.toLowerCase(), part] as const)),
]);

/** Returns the name by which rules know the tool of a `toolType`, such as `GOOGLE_MAPS`. */
export function hostedTool(toolType: string): string {
  return toolType.toLowerCase();
}
