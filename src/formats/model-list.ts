// How the gateway lists its models.

export interface ListedModel {
  readonly id: string;
  /** The provider that serves it. */
  readonly owner: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

/** The responses to requests for models in one format. */
export interface ModelListEncoder {
  readonly encodeModel: (model: ListedModel) => object;
  readonly encodeModelList: (models: readonly ListedModel[]) => object;
}
