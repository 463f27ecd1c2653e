/** Routes of payment requests: create, list, get and cancel them. */

import { PaymentsQuery, RequestPayment } from "../../contract/payments.ts";
import { IdempotentRequest } from "../../contract/values.ts";
import type { ErrorDetail, PaymentRequestList } from "../../sdk/wire.ts";
import { invalidFields } from "../core/error.ts";
import type { PaymentId } from "../core/id.ts";
import { BOUND_EXPECTED, parseBound } from "../core/instant.ts";
import { type Payment, paymentRecord } from "../core/payment.ts";
import { type Deps, forRequest } from "../engine/deps.ts";
import type { With } from "../engine/engine-deps.ts";
import type { IdempotentResult } from "../engine/idempotency.ts";
import type { AcceptDeps } from "../engine/messages/accept.ts";
import { cancelRequest, requirePayment } from "../engine/payments/end-payments.ts";
import { requestPayment } from "../engine/payments/request-payment.ts";
import { findPayment, listPayments } from "../store/payments.ts";
import { listReader } from "./list-reader.ts";
import { pageOf } from "./paging.ts";
import { type Route, route } from "./route.ts";

export function paymentRoutes(deps: AcceptDeps & With<"backPressure">): Route[] {
  return [requestRoute(deps), listRoute(deps), ...onePaymentRoutes(deps)];
}

function requestRoute(deps: AcceptDeps & With<"backPressure">): Route {
  return route({
    method: "POST",
    path: "/v1/payments/request",
    scope: "messages",
    body: RequestPayment,
    async handle({ caller: { customerId, key }, body, correlationId, idempotencyKey, gone }) {
      await deps.backPressure.turn(customerId, gone);
      const result = await requestPayment(deps, {
        customerId,
        keyId: key.id,
        correlationId,
        idempotencyKey,
        body,
      });
      const data = paymentRecord(await answered(deps, result));
      return { status: result.repeated ? 200 : 202, data };
    },
  });
}

function listRoute(deps: Deps): Route {
  return route({
    method: "GET",
    path: "/v1/payments/requests",
    scope: "messages",
    query: PaymentsQuery,
    async handle(request) {
      const { caller, query } = request;
      const filter = { status: query.status, ...periodOf(query) };
      const db = listReader(deps, request);
      const { records, pagination } = await pageOf("pay_", query, (start, limit) =>
        listPayments(db, caller.customerId, filter, start, limit),
      );
      const data: PaymentRequestList = { requests: records.map(paymentRecord), pagination };
      return { data };
    },
  });
}

function onePaymentRoutes(deps: With<"link">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/payments/requests/:id",
      scope: "messages",
      async handle({ caller, params }) {
        return { data: paymentRecord(await requirePayment(deps, caller.customerId, params.id)) };
      },
    }),
    route({
      method: "POST",
      path: "/v1/payments/requests/:id/cancel",
      scope: "messages",
      body: IdempotentRequest,
      async handle({ caller: { customerId }, params: { id }, idempotencyKey: key, correlationId }) {
        const request = { key, customerId, route: `POST /v1/payments/requests/${id}/cancel`, body: {} };
        const result = await cancelRequest(forRequest(deps, correlationId), request, customerId, id);
        return { data: paymentRecord(await answered(deps, result)) };
      },
    }),
  ];
}

/** The payment request that was created or changed; for a repeat, the current state of the first request's. */
async function answered(deps: Deps, result: IdempotentResult<Payment>): Promise<Payment> {
  if (!result.repeated) return result.value;
  const first = await findPayment(deps.store.db, result.firstResult as PaymentId);
  if (first === null) throw new Error(`${result.firstResult} is gone`);
  return first;
}

/** The period of creation: from `from` to `to`. A date is a day in UTC; as `to` it includes the whole day. */
function periodOf({ from, to }: { from?: string; to?: string }) {
  const problems: ErrorDetail[] = [];
  const read = (path: "from" | "to", text: string | undefined): number | undefined => {
    const at = text === undefined ? undefined : parseBound(text, path);
    if (at === null) problems.push({ path, message: BOUND_EXPECTED });
    return at ?? undefined;
  };
  const period = { createdFrom: read("from", from), createdBefore: read("to", to) };
  if (problems.length > 0) throw invalidFields(problems);
  return period;
}
