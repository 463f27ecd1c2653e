/** Admin routes of customers and their numbers. */

import type { CustomerList, CustomerWithNumbers, Deleted } from "../../sdk/wire.ts";
import { customerRecord } from "../core/customer.ts";
import { ApiError } from "../core/error.ts";
import type { CustomerId } from "../core/id.ts";
import type { Context } from "../engine/context.ts";
import { admit } from "../engine/customers/admit.ts";
import { addNumber, makeDefault, recordOf, removeNumber } from "../engine/customers/assign.ts";
import { weakSecrets } from "../engine/customers/weak-secrets.ts";
import { findCustomer, listCustomers } from "../store/customers.ts";
import { findNumbers } from "../store/numbers.ts";
import { pageOfAll } from "./page.ts";
import { type Route, route } from "./route.ts";
import { closed, page } from "./schemas/common.ts";
import { AddNumber, CreateCustomer } from "./schemas/customers.ts";

/** `/v1/admin/customers` and what is under it (contract 2). */
export function customerRoutes(context: Context): Route[] {
  return [createRoute(context), listRoute(context), getRoute(context), ...assignmentRoutes(context)];
}

function createRoute(context: Context): Route {
  return route({
    method: "POST",
    path: "/v1/admin/customers",
    scope: "admin",
    body: CreateCustomer,
    async handle({ body, idempotencyKey }) {
      const { repeated, customer } = await admit(context, { idempotencyKey, body });
      return { status: repeated ? 200 : 201, data: customerRecord(customer) };
    },
  });
}

function listRoute(context: Context): Route {
  return route({
    method: "GET",
    path: "/v1/admin/customers",
    scope: "admin",
    query: closed(page),
    async handle({ query }) {
      const read = (before: string | null, limit: number) => listCustomers(context.store.db, before, limit);
      const { records, pagination } = await pageOfAll("cust_", query, read);
      const data: CustomerList = { customers: records.map(customerRecord), pagination };
      return { data };
    },
  });
}

function getRoute(context: Context): Route {
  return route({
    method: "GET",
    path: "/v1/admin/customers/:id",
    scope: "admin",
    async handle({ params }) {
      const id = params.id as CustomerId;
      const customer = await findCustomer(context.store.db, id);
      if (customer === null) throw new ApiError("NOT_FOUND", `There is no customer ${id}.`);
      const numbers = await findNumbers(context.store.db, id);
      const records = await Promise.all(numbers.map((number) => recordOf(context, number)));
      const warnings = await weakSecrets(context, customer);
      const data: CustomerWithNumbers = { ...customerRecord(customer), numbers: records, warnings };
      return { data };
    },
  });
}

function assignmentRoutes(context: Context): Route[] {
  return [
    route({
      method: "POST",
      path: "/v1/admin/customers/:id/numbers",
      scope: "admin",
      body: AddNumber,
      async handle({ params, body, idempotencyKey }) {
        const request = { idempotencyKey, body };
        const { repeated, number } = await addNumber(context, params.id as CustomerId, request);
        return { status: repeated ? 200 : 201, data: await recordOf(context, number) };
      },
    }),
    route({
      method: "DELETE",
      path: "/v1/admin/customers/:id/numbers/:numberId",
      scope: "admin",
      async handle({ params }) {
        await removeNumber(context, params.id as CustomerId, params.numberId);
        const data: Deleted = { id: params.numberId, deleted: true };
        return { data };
      },
    }),
    route({
      method: "PUT",
      path: "/v1/admin/customers/:id/numbers/:numberId/default",
      scope: "admin",
      async handle({ params }) {
        const number = await makeDefault(context, params.id as CustomerId, params.numberId);
        return { data: await recordOf(context, number) };
      },
    }),
  ];
}
