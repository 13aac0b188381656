// The bounds that the accuracy of code_sanitation must keep, for corpora with these names.
import type { Corpus, Sample } from "./corpora.ts";

/** Samples of one or several corpora that are measured together. */
export interface Measured {
  readonly name: string;
  readonly samples: readonly Sample[];
  /** The minimum share of attacks that are found; null for none. */
  readonly minimum?: number;
  /** The maximum share of harmless texts that are flagged; null for none. */
  readonly maximum?: number;
}

/** The corpus of this repository. */
const OWN_MIN_FOUND = 0.95;
const OWN_MAX_FLAGGED = 0.01;

/** By language, over all files `attacks-*` together. */
const MIN_FOUND: Readonly<Record<string, number>> = { shell: 0.92, sql: 0.92, html: 0.97 };
/** By file and language. */
const MIN_FOUND_IN_FILE: Readonly<Record<string, number>> = {
  "attacks-libinjection sql": 0.97,
  "attacks-libinjection html": 0.97,
};
/** Files that are measured together, and their maximum. */
const HARMLESS_GROUPS: Readonly<
  Record<string, { readonly files: readonly string[]; readonly maximum: number }>
> = {
  "prose and similar": { files: ["benign-bench", "benign-gotestwaf", "benign-libinjection"], maximum: 0 },
  "code-related prompts": {
    files: ["benign-codealpaca", "benign-nl2bash", "benign-self-instruct"],
    maximum: 0.005,
  },
  "hard prompts": { files: ["benign-arena-hard"], maximum: 0.004 },
};

const isOwn = ({ name }: Corpus) => /-(attacks|harmless)$/.test(name);

/** Returns what is measured of the attacks: each file by language, and each language over all files. */
export function measuredAttacks(corpora: readonly Corpus[]): Measured[] {
  const attacks = corpora.filter(({ isHarmless }) => !isHarmless);
  const perFile = attacks.flatMap((corpus) =>
    byFamily(corpus.samples).map(([family, samples]) => {
      const name = isOwn(corpus) ? corpus.name : `${corpus.name} ${family}`;
      const minimum = isOwn(corpus) ? OWN_MIN_FOUND : MIN_FOUND_IN_FILE[name];
      return { name, samples, ...(minimum === undefined ? {} : { minimum }) };
    }),
  );
  const others = attacks.filter((corpus) => !isOwn(corpus)).flatMap(({ samples }) => samples);
  const perLanguage = byFamily(others).map(([family, samples]) => {
    const minimum = MIN_FOUND[family];
    return { name: `all ${family}`, samples, ...(minimum === undefined ? {} : { minimum }) };
  });
  return [...perFile, ...perLanguage];
}

/** Returns what is measured of the harmless texts: each file, and groups of them. */
export function measuredHarmless(corpora: readonly Corpus[]): Measured[] {
  const harmless = corpora.filter(({ isHarmless }) => isHarmless);
  const perFile = harmless.map((corpus) => ({
    name: corpus.name,
    samples: corpus.samples,
    ...(isOwn(corpus) ? { maximum: OWN_MAX_FLAGGED } : {}),
  }));
  const perGroup = Object.entries(HARMLESS_GROUPS).map(([name, { files, maximum }]) => ({
    name,
    samples: harmless.filter((corpus) => files.includes(corpus.name)).flatMap(({ samples }) => samples),
    maximum,
  }));
  return [...perFile, ...perGroup.filter(({ samples }) => samples.length > 0)];
}

function byFamily(samples: readonly Sample[]): [string, Sample[]][] {
  return [...Map.groupBy(samples, ({ family }) => family)];
}
