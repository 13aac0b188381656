// Real tokenizers, to compare estimates with.

export interface Tokenizer {
  readonly name: string;
  readonly count: (text: string) => number;
}

/** The vocabularies of current models of OpenAI, and of the ones before GPT-4o. Anthropic and Google do not publish theirs. */
const VOCABULARIES = ["o200k_base", "cl100k_base"];

export async function loadTokenizers(): Promise<readonly Tokenizer[]> {
  return await Promise.all(VOCABULARIES.map(loadTokenizer));
}

async function loadTokenizer(name: string): Promise<Tokenizer> {
  // The specifier is not a literal, so that type checks and linter need not read the vocabulary (2 MB of source text).
  const module: unknown = await import(`gpt-tokenizer/encoding/${name}`);
  if (!isTokenizerModule(module)) throw new Error(`gpt-tokenizer has no countTokens for ${name}`);
  // Texts such as <|endoftext|> are text in a message, not special tokens.
  const options = { disallowedSpecial: new Set<string>() };
  return { name, count: (text) => module.countTokens(text, options) };
}

interface TokenizerModule {
  countTokens(text: string, options: { readonly disallowedSpecial: Set<string> }): number;
}

function isTokenizerModule(module: unknown): module is TokenizerModule {
  return (
    typeof module === "object" &&
    module !== null &&
    "countTokens" in module &&
    typeof module.countTokens === "function"
  );
}
