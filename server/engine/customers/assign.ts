/** Gives numbers to customers and takes them away. Each change moves the customer's version: one at a time. */

import type { AddNumber, ErrorDetail, CustomerNumber as WireNumber } from "../../../sdk/wire.ts";
import type { Customer } from "../../core/customer.ts";
import { ApiError, invalidField } from "../../core/error.ts";
import type { CustomerId, InstanceId } from "../../core/id.ts";
import { type CustomerNumber, channelsOf, numberRecord } from "../../core/number.ts";
import { parseAddress } from "../../core/phone.ts";
import { capabilitiesOf } from "../../providers/registry.ts";
import { findInstances } from "../../store/instances.ts";
import { findNumberByAddress, findNumbers } from "../../store/numbers.ts";
import type { Operation } from "../../store/store.ts";
import { change } from "../commit.ts";
import type { Context } from "../context.ts";
import { once } from "../idempotency.ts";
import { INSTANCES_TURN } from "../instances/connect.ts";
import { reachOf } from "../routing/route.ts";
import { requireCustomer } from "./require-customer.ts";

/** A number that was asked for; `repeated` when an earlier request with the same idempotency key had added it. */
export interface Assigned {
  repeated: boolean;
  number: CustomerNumber;
}

/**
 * Adds a number to a customer; the first one becomes its default. Throws 409 `NUMBER_TAKEN` for a number that any
 * customer has, this one included, 404 for an unknown customer, and 400 for an instance that is not there.
 */
export async function addNumber(
  context: Context,
  customerId: CustomerId,
  request: { idempotencyKey: string | null; body: AddNumber },
): Promise<Assigned> {
  const { idempotencyKey: key, body } = request;
  const address = addressOf(body);
  requireCarried(body, address);
  const command = { key, customerId: null, route: `POST /v1/admin/customers/${customerId}/numbers`, body };
  const decision = async () => {
    const { customer, numbers } = await findOwner(context, customerId);
    if ((await findNumberByAddress(context.store.db, address)) !== null) throw numberTaken(address);
    const number: CustomerNumber = {
      id: context.newId("num"),
      customerId,
      address,
      provider: body.provider,
      instanceId: await instanceFor(context, body),
      isDefault: numbers.length === 0,
      createdAt: context.clock.now(),
    };
    const claim: Operation = { op: "once", table: "numbers", record: number };
    return { unit: [claim, touch(context, customer)], value: number, result: number.id };
  };
  // An instance that is chosen here must not be removed before its number is on it.
  const commanded = await context.turns.take(INSTANCES_TURN, () =>
    once(context, command, decision, () => numberTaken(address)),
  );
  if (!commanded.repeated) {
    context.known.clear();
    return { repeated: false, number: commanded.value };
  }
  const { number } = await findOwn(context, customerId, commanded.result);
  return { repeated: true, number };
}

/**
 * Takes a number from its customer; what is queued from it goes on. The oldest other number becomes the default in the
 * place of one that was. Throws 404 when the customer does not have it.
 */
export async function removeNumber(context: Context, customerId: CustomerId, numberId: string): Promise<void> {
  await change(context, async () => {
    const { customer, number, others } = await findOwn(context, customerId, numberId);
    const unit: Operation[] = [{ op: "delete", table: "numbers", where: { id: number.id } }];
    const [oldest] = others;
    if (number.isDefault && oldest !== undefined) unit.push(put({ ...oldest, isDefault: true }));
    return { unit: [...unit, touch(context, customer)], value: undefined };
  });
  context.known.clear();
}

/** Makes a number its customer's default. Throws 404 when the customer does not have it. */
export async function makeDefault(context: Context, customerId: CustomerId, numberId: string): Promise<CustomerNumber> {
  const chosen = await change(context, async () => {
    const { customer, number, others } = await findOwn(context, customerId, numberId);
    if (number.isDefault) return { unit: null, value: number };
    const value = { ...number, isDefault: true };
    const former = others.filter((other) => other.isDefault).map((other) => put({ ...other, isDefault: false }));
    return { unit: [...former, put(value), touch(context, customer)], value };
  });
  context.known.clear();
  return chosen;
}

/** The record of contract 2, with the channels that the number has on its instance, and by its customer's routes. */
export async function recordOf(context: Context, number: CustomerNumber): Promise<WireNumber> {
  return numberRecord(number, await reachOf(context, number));
}

async function findOwner(
  context: Context,
  customerId: CustomerId,
): Promise<{ customer: Customer; numbers: CustomerNumber[] }> {
  const { db } = context.store;
  // The customer first: numbers read after it are as old or newer, and a newer one moved the version.
  const customer = await requireCustomer(context, customerId);
  return { customer, numbers: await findNumbers(db, customerId) };
}

/** A number of a customer, and its other numbers, the oldest first. */
async function findOwn(context: Context, customerId: CustomerId, numberId: string) {
  const { customer, numbers } = await findOwner(context, customerId);
  const number = numbers.find((one) => one.id === numberId);
  if (number === undefined) throw new ApiError("NOT_FOUND", `Customer ${customerId} has no number ${numberId}.`);
  const others = numbers.filter((other) => other !== number).sort((left, right) => (left.id < right.id ? -1 : 1));
  return { customer, number, others };
}

function put(record: CustomerNumber): Operation {
  return { op: "put", table: "numbers", record };
}

function touch(context: Context, customer: Customer): Operation {
  const { id, version } = customer;
  return { op: "update", table: "customers", id, version, set: { updatedAt: context.clock.now() } };
}

function numberTaken(address: string): ApiError {
  return new ApiError("NUMBER_TAKEN", `${address} belongs to a customer already; remove it there first.`);
}

/** The address in the form it is stored in. Throws a 400 that names both fields unless exactly one is given. */
function addressOf({ phoneNumber, email }: AddNumber): string {
  const given = [phoneNumber, email].filter((one) => one !== undefined);
  const parsed = given.length === 1 ? parseAddress(given[0] ?? "") : null;
  if (parsed !== null) return parsed.address;
  const message = "give either phoneNumber or email, and not both";
  const details: ErrorDetail[] = ["phoneNumber", "email"].map((path) => ({ path, message }));
  throw new ApiError("VALIDATION_ERROR", `phoneNumber, email: ${message}`, { details });
}

/** Throws a 400 for an address that no message of its provider could be from: an e-mail address has no SMS. */
function requireCarried({ provider }: AddNumber, address: string): void {
  if (channelsOf(address, capabilitiesOf(provider).channels).length > 0) return;
  throw invalidField("email", `${provider} carries SMS alone, which no e-mail address has; give a phone number`);
}

/** The instance that is named, else the oldest one of the provider. */
async function instanceFor(context: Context, { provider, instanceId }: AddNumber): Promise<InstanceId> {
  const instances = (await findInstances(context.store.db)).filter((instance) => instance.provider === provider);
  const [oldest] = instances;
  if (instanceId === undefined) {
    if (oldest !== undefined) return oldest.id;
    throw invalidField(
      "provider",
      `there is no instance of ${provider} to put the number on; make one by POST /v1/admin/instances`,
    );
  }
  const named = instances.find((instance) => instance.id === instanceId);
  if (named !== undefined) return named.id;
  throw invalidField("instanceId", `there is no instance ${instanceId} of ${provider}`);
}
