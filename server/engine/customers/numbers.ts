/** Adds and removes numbers of customers. Each change increments the customer's version, so that concurrent changes conflict. */

import type { AddNumber, ErrorDetail, CustomerNumber as WireNumber } from "../../../sdk/wire.ts";
import type { Customer } from "../../core/customer.ts";
import { ApiError, invalidField, refusedField } from "../../core/error.ts";
import type { CustomerId } from "../../core/id.ts";
import type { Instance } from "../../core/instance.ts";
import { type CustomerNumber, channelsOf, numberRecord } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import { findInstances } from "../../store/instances.ts";
import { findNumberByAddress, findNumbers } from "../../store/numbers.ts";
import type { Operation } from "../../store/store.ts";
import { change } from "../commit.ts";
import type { Deps } from "../deps.ts";
import type { With } from "../engine-deps.ts";
import { idempotent } from "../idempotency.ts";
import { INSTANCES_QUEUE, useInstance } from "../instances/instances.ts";
import { reachOf } from "../routing/route.ts";
import { requireCustomer } from "./require-customer.ts";

/** The added number; `repeated` if an earlier request with the same idempotency key added it. */
export interface AddedNumber {
  repeated: boolean;
  number: CustomerNumber;
}

/**
 * Adds a number to a customer. The first number becomes the default. Throws 409 `NUMBER_TAKEN` if any customer has the number,
 * this one included, 404 for an unknown customer, and 400 for an unknown instance.
 */
export async function addNumber(
  deps: With<"configCache">,
  customerId: CustomerId,
  request: { idempotencyKey: string | null; body: AddNumber },
): Promise<AddedNumber> {
  const { idempotencyKey: key, body } = request;
  const address = addressOf(body);
  requireCarried(body, address);
  const idempotentRequest = { key, customerId: null, route: `POST /v1/admin/customers/${customerId}/numbers`, body };
  const decision = async () => {
    const { customer, numbers } = await findOwner(deps, customerId);
    if ((await findNumberByAddress(deps.store.db, address)) !== null) throw numberTaken(body, address);
    const instance = await instanceFor(deps, body);
    const number: CustomerNumber = {
      id: deps.newId("num"),
      customerId,
      address,
      provider: body.provider,
      instanceId: instance.id,
      isDefault: numbers.length === 0,
      createdAt: deps.clock.now(),
    };
    const claim: Operation = { op: "insertUnique", table: "numbers", record: number };
    return {
      transaction: [claim, touch(deps, customer), useInstance(instance)],
      value: number,
      result: number.id,
    };
  };
  const result = await deps.serial.run(INSTANCES_QUEUE, () =>
    idempotent(deps, idempotentRequest, decision, () => numberTaken(body, address)),
  );
  if (!result.repeated) {
    deps.configCache.clear();
    return { repeated: false, number: result.value };
  }
  const { number } = await findOwn(deps, customerId, result.firstResult);
  return { repeated: true, number };
}

/**
 * Removes a number from its customer. Queued messages from the number are still sent. If the number was the default, the
 * oldest other number becomes the default. Throws 404 if the customer does not have the number.
 */
export async function removeNumber(deps: With<"configCache">, customerId: CustomerId, numberId: string): Promise<void> {
  await change(deps, async () => {
    const { customer, number, others } = await findOwn(deps, customerId, numberId);
    const transaction: Operation[] = [{ op: "delete", table: "numbers", where: { id: number.id } }];
    const [oldest] = others;
    if (number.isDefault && oldest !== undefined) transaction.push(put({ ...oldest, isDefault: true }));
    return { transaction: [...transaction, touch(deps, customer)], value: undefined };
  });
  deps.configCache.clear();
}

/** Makes a number the default of its customer. Throws 404 if the customer does not have the number. */
export async function makeDefault(
  deps: With<"configCache">,
  customerId: CustomerId,
  numberId: string,
): Promise<CustomerNumber> {
  const chosen = await change(deps, async () => {
    const { customer, number, others } = await findOwn(deps, customerId, numberId);
    if (number.isDefault) return { transaction: null, value: number };
    const value = { ...number, isDefault: true };
    const former = others.filter((other) => other.isDefault).map((other) => put({ ...other, isDefault: false }));
    return { transaction: [...former, put(value), touch(deps, customer)], value };
  });
  deps.configCache.clear();
  return chosen;
}

/** The API's record, with the channels that the number has through its instance and its customer's routes. */
export async function recordOf(deps: With<"configCache" | "providers">, number: CustomerNumber): Promise<WireNumber> {
  return numberRecord(number, await reachOf(deps, number));
}

async function findOwner(
  deps: Deps,
  customerId: CustomerId,
): Promise<{ customer: Customer; numbers: CustomerNumber[] }> {
  const { db } = deps.store;
  // Read the customer first: a number that changes afterwards increments the version, and the decision conflicts.
  const customer = await requireCustomer(deps, customerId);
  return { customer, numbers: await findNumbers(db, customerId) };
}

/** A number of a customer, and its other numbers, the oldest first. */
async function findOwn(deps: Deps, customerId: CustomerId, numberId: string) {
  const { customer, numbers } = await findOwner(deps, customerId);
  const number = numbers.find((one) => one.id === numberId);
  if (number === undefined) throw new ApiError("NOT_FOUND", `Customer ${customerId} has no number ${numberId}.`);
  const others = numbers.filter((other) => other !== number).sort((left, right) => (left.id < right.id ? -1 : 1));
  return { customer, number, others };
}

function put(record: CustomerNumber): Operation {
  return { op: "put", table: "numbers", record };
}

function touch(deps: Deps, customer: Customer): Operation {
  const { id, version } = customer;
  return { op: "update", table: "customers", id, version, set: { updatedAt: deps.clock.now() } };
}

function numberTaken({ email }: AddNumber, address: string): ApiError {
  const field = email === undefined ? "phoneNumber" : "email";
  const message = `${address} already belongs to a customer; remove it from that customer first`;
  return refusedField("NUMBER_TAKEN", field, message);
}

/** The address in its stored form. Throws a 400 that names both fields unless exactly one is given. */
function addressOf({ phoneNumber, email }: AddNumber): string {
  const given = [phoneNumber, email].filter((one) => one !== undefined);
  const parsed = given.length === 1 ? parseAddress(given[0] ?? "") : null;
  if (parsed !== null) return parsed.address;
  const message = "give either phoneNumber or email, and not both";
  const details: ErrorDetail[] = ["phoneNumber", "email"].map((path) => ({ path, message }));
  throw new ApiError("VALIDATION_ERROR", `phoneNumber, email: ${message}`, { details });
}

/** Throws a 400 for an address from which the provider cannot send: an e-mail address has no SMS. */
function requireCarried({ provider }: AddNumber, address: string): void {
  if (channelsOf(address, capabilitiesOf(provider).channels).length > 0) return;
  throw invalidField("email", `${provider} carries SMS alone, which no e-mail address has; give a phone number`);
}

/** The given instance, otherwise the oldest instance of the provider. */
async function instanceFor(deps: Deps, { provider, instanceId }: AddNumber): Promise<Instance> {
  const instances = (await findInstances(deps.store.db)).filter((instance) => instance.provider === provider);
  const [oldest] = instances;
  if (instanceId === undefined) {
    if (oldest !== undefined) return oldest;
    throw invalidField(
      "provider",
      `there is no instance of ${provider} to put the number on; make one by POST /v1/admin/instances`,
    );
  }
  const named = instances.find((instance) => instance.id === instanceId);
  if (named !== undefined) return named;
  throw invalidField("instanceId", `there is no instance ${instanceId} of ${provider}`);
}
