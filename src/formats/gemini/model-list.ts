// The gateway's models in the shape of Gemini's API.
import type { ListedModel, ModelListEncoder } from "../model-list.ts";

export const geminiModels: ModelListEncoder = {
  encodeModel,
  encodeModelList: (models) => ({ models: models.map(encodeModel) }),
};

function encodeModel({ id }: ListedModel): object {
  return { name: `models/${id}`, displayName: id };
}
