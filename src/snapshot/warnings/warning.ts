// A warning about a configuration that is legal but probably wrong.

interface WarningPlace {
  readonly recordId: string;
  /** Field of the record, as in errors: `targets[0].path`. */
  readonly path: string;
}

export interface ConfigurationWarning {
  /** The fields that cause it together. The first is the one that a document reports. */
  readonly places: readonly WarningPlace[];
  readonly message: string;
}
