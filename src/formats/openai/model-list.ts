// The gateway's models in the shape of OpenAI's API.
import type { ListedModel, ModelListEncoder } from "../model-list.ts";

export const openaiModels: ModelListEncoder = {
  encodeModel,
  encodeModelList: (models) => ({ object: "list", data: models.map(encodeModel) }),
};

function encodeModel({ id, owner, createdAt }: ListedModel): object {
  return { id, object: "model", created: Math.floor(createdAt / 1000), owned_by: owner };
}
