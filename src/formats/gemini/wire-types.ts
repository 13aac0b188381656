// The Gemini generateContent types that the request translation writes. They list only the fields the gateway uses.
import type { JsonObject } from "../../base/json.ts";

interface GeminiBlob {
  mimeType: string;
  /** Base64. */
  data: string;
}

interface GeminiFileData {
  fileUri: string;
  mimeType?: string;
}

export interface GeminiPart {
  text?: string;
  inlineData?: GeminiBlob;
  fileData?: GeminiFileData;
  functionCall?: { id: string; name: string; args: JsonObject };
  functionResponse?: { id: string; name: string; response: JsonObject; parts?: GeminiPart[] };
  /** Encrypted reasoning that belongs to this part. */
  thoughtSignature?: string;
}

export interface GeminiContent {
  role: "user" | "model";
  parts: GeminiPart[];
}

export interface GeminiFunctionDeclaration {
  name: string;
  description?: string;
  parametersJsonSchema?: JsonObject;
}

export interface GeminiThinkingConfig {
  includeThoughts?: boolean;
  /** Models up to 2.5. */
  thinkingBudget?: number;
  /** Models from 3. */
  thinkingLevel?: "minimal" | "low" | "medium" | "high";
}

export interface GeminiGenerationConfig {
  temperature?: number;
  topP?: number;
  topK?: number;
  maxOutputTokens?: number;
  stopSequences?: string[];
  seed?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  responseMimeType?: string;
  responseJsonSchema?: JsonObject;
  thinkingConfig?: GeminiThinkingConfig;
}

export interface GeminiToolConfig {
  functionCallingConfig: { mode: "AUTO" | "ANY" | "NONE"; allowedFunctionNames?: string[] };
}

/** The model is in the path of the request. */
export interface GeminiRequest {
  contents: GeminiContent[];
  systemInstruction?: { parts: GeminiPart[] };
  tools?: { functionDeclarations: GeminiFunctionDeclaration[] }[];
  toolConfig?: GeminiToolConfig;
  generationConfig?: GeminiGenerationConfig;
}
