/** Admin routes of customers and their numbers. */

import { AddNumber, CreateCustomer } from "../../contract/customers.ts";
import { PageQuery } from "../../contract/values.ts";
import type { CustomerList, CustomerWithNumbers, Deleted } from "../../sdk/wire.ts";
import { customerRecord } from "../core/customer.ts";
import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import { createCustomer } from "../engine/customers/create-customer.ts";
import { addNumber, makeDefault, recordOf, removeNumber } from "../engine/customers/numbers.ts";
import { secretWarnings } from "../engine/customers/secret-warnings.ts";
import type { Deps } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import { findCustomer, listCustomers } from "../store/customers.ts";
import { findNumbers } from "../store/numbers.ts";
import { listReader } from "./list-reader.ts";
import { pageOfAll } from "./paging.ts";
import { type Route, route } from "./route.ts";

export function customerRoutes(deps: With<"configCache" | "providers" | "sealer">): Route[] {
  return [createRoute(deps), listRoute(deps), getRoute(deps), ...assignmentRoutes(deps)];
}

function createRoute(deps: With<"configCache" | "sealer">): Route {
  return route({
    method: "POST",
    path: "/v1/admin/customers",
    scope: "admin",
    body: CreateCustomer,
    async handle({ body, idempotencyKey }) {
      const { repeated, customer } = await createCustomer(deps, { idempotencyKey, body });
      return { status: repeated ? 200 : 201, data: customerRecord(customer) };
    },
  });
}

function listRoute(deps: Deps): Route {
  return route({
    method: "GET",
    path: "/v1/admin/customers",
    scope: "admin",
    query: PageQuery,
    async handle(request) {
      const db = listReader(deps, request);
      const read = (before: string | null, limit: number) => listCustomers(db, before, limit);
      const { records, pagination } = await pageOfAll("cust_", request.query, read);
      const data: CustomerList = { customers: records.map(customerRecord), pagination };
      return { data };
    },
  });
}

function getRoute(deps: With<"configCache" | "providers" | "sealer">): Route {
  return route({
    method: "GET",
    path: "/v1/admin/customers/:id",
    scope: "admin",
    async handle({ params }) {
      const id = params.id as CustomerId;
      const customer = await findCustomer(deps.store.db, id);
      if (customer === null) throw new ApiError("NOT_FOUND", `There is no customer ${id}.`);
      const numbers = await findNumbers(deps.store.db, id);
      const records = await Promise.all(numbers.map((number) => recordOf(deps, number)));
      const warnings = await secretWarnings(deps, customer);
      const data: CustomerWithNumbers = { ...customerRecord(customer), numbers: records, warnings };
      return { data };
    },
  });
}

function assignmentRoutes(deps: With<"configCache" | "providers">): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/admin/customers/:id/numbers",
      scope: "admin",
      body: AddNumber,
      async handle({ params, body, idempotencyKey }) {
        const request = { idempotencyKey, body };
        const { repeated, number } = await addNumber(deps, params.id as CustomerId, request);
        return { status: repeated ? 200 : 201, data: await recordOf(deps, number) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/admin/customers/:id/numbers/:numberId",
      scope: "admin",
      async handle({ params }) {
        await removeNumber(deps, params.id as CustomerId, params.numberId);
        const data: Deleted = { id: params.numberId, deleted: true };
        return { data };
      },
    }),
    route({
      method: "PUT",
      path: "/v1/admin/customers/:id/numbers/:numberId/default",
      scope: "admin",
      async handle({ params }) {
        const number = await makeDefault(deps, params.id as CustomerId, params.numberId);
        return { data: await recordOf(deps, number) };
      },
    }),
  ];
}
