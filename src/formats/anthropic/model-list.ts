// The gateway's models in the shape of Anthropic's API.
import type { ListedModel, ModelListEncoder } from "../model-list.ts";

export const anthropicModels: ModelListEncoder = {
  encodeModel,
  encodeModelList: (models) => ({
    data: models.map(encodeModel),
    has_more: false,
    first_id: models[0]?.id ?? null,
    last_id: models.at(-1)?.id ?? null,
  }),
};

function encodeModel({ id, createdAt }: ListedModel): object {
  return { type: "model", id, display_name: id, created_at: new Date(createdAt).toISOString() };
}
