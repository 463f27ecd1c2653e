/** Operations on provider instances. */

import { CreateInstance, Instance, InstanceList, instanceExample, UpdateInstance } from "../instances.ts";
import { linksTo, operation, type Section } from "../operation.ts";
import { at, IDS, LAST_PAGE } from "../samples.ts";
import { Deleted, PageQuery } from "../values.ts";

export const instances: Section = {
  tag: "Instances",
  description: "Connections to providers. Secrets are encrypted on disk and never returned. Takes an admin key.",
  parameters: { id: { description: "Id of the instance.", example: IDS.instance } },
  operations: {
    "POST /v1/admin/instances": operation({
      id: "createInstance",
      summary: "Create a provider instance",
      description:
        "Connects a provider. `config` holds the settings of that provider. A customer's first real instance ends its sandbox.",
      status: 201,
      body: CreateInstance,
      response: Instance,
      example: instanceExample,
      bodyExample: {
        name: "Carrier",
        provider: "smpp",
        config: {
          host: "smpp.example.com",
          port: 2775,
          systemId: "bistro",
          password: "secret",
          bindMode: "transceiver",
        },
      },
      links: linksTo("getInstance", "updateInstance", "deleteInstance"),
    }),
    "GET /v1/admin/instances": operation({
      id: "listInstances",
      summary: "List provider instances",
      description: "Lists instances newest first, with their health.",
      query: PageQuery,
      response: InstanceList,
      example: { instances: [instanceExample], pagination: LAST_PAGE },
    }),
    "GET /v1/admin/instances/:id": operation({
      id: "getInstance",
      summary: "Get a provider instance",
      description: "Includes its health, and problems for the operator to fix.",
      response: Instance,
      example: instanceExample,
    }),
    "PATCH /v1/admin/instances/:id": operation({
      id: "updateInstance",
      summary: "Change a provider instance",
      description: "Changes what `config` names and keeps the rest, then reconnects with the new values.",
      body: UpdateInstance,
      response: Instance,
      example: { ...instanceExample, name: "Carrier A", updatedAt: at(90) },
      bodyExample: { name: "Carrier A" },
    }),
    "DELETE /v1/admin/instances/:id": operation({
      id: "deleteInstance",
      summary: "Delete a provider instance",
      description: "Possible if no number is on the instance and no route names it.",
      response: Deleted,
      example: { id: IDS.instance, deleted: true },
      errors: ["INVALID_STATUS"],
    }),
  },
};
