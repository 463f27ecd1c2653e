/** The checks of `doctor` that need the admin key: instances, customers' secrets, and their SMS routes. Changes nothing. */

import type { Tightbeam } from "../sdk/client.ts";
import { TightbeamError } from "../sdk/errors.ts";
import type { CustomerWithNumbers, Instance, Route } from "../sdk/wire.ts";
import { ago } from "./ago.ts";
import { broken, type CheckResult, ok, warning } from "./check-result.ts";

/** Customers that are checked: doctor ends in seconds. */
const CUSTOMERS_MAX = 20;
/** Providers that send SMS without a Mac or an iPhone. */
const CARRIERS: readonly Instance["provider"][] = ["smpp", "twilio"];

const SECRET_ADVICE = "tightbeam webhooks rotate-secret makes a new one, with a grace period for its receivers.";

/** Results for every instance, then for customers' routes and numbers; `advice` is for a key that is refused. */
export async function channelResults(admin: Tightbeam, advice: string, now: number): Promise<CheckResult[]> {
  try {
    return await examineChannels(admin, now);
  } catch (error) {
    if (error instanceof TightbeamError) {
      const isOfServer = error.code === "SERVICE_UNAVAILABLE";
      return [
        broken("admin key", `${error.code} ${error.message}`, isOfServer ? "It is not the key: see health." : advice),
      ];
    }
    throw error;
  }
}

async function examineChannels(admin: Tightbeam, now: number): Promise<CheckResult[]> {
  const instances: Instance[] = [];
  for await (const instance of admin.admin.instances.listAll({ limit: 100 })) instances.push(instance);
  const results = instances.flatMap((instance) => instanceResults(instance, now));
  const { customers } = await admin.admin.customers.list({ limit: CUSTOMERS_MAX });
  for (const { id } of customers) results.push(...(await customerResults(admin, id, instances)));
  return results;
}

/** Results for an instance and its warnings, each of which says what to do. */
function instanceResults(instance: Instance, now: number): CheckResult[] {
  const { id, name, provider, health, warnings } = instance;
  const page = provider === "sandbox" ? "docs/sandbox.md" : `docs/providers/${provider}.md`;
  const advice = `${page} says more; tightbeam instances get ${id} shows its settings.`;
  const found = `${name} (${provider}) is ${health}${lastEventOf(instance, now)}`;
  const judged = { healthy: ok, degraded: warning, unhealthy: broken, unknown: warning }[health];
  const hasOwnAdvice = health === "healthy" || warnings.length > 0;
  const states = [{ ...judged("instances", found, advice), advice: hasOwnAdvice ? null : advice }];
  return [...states, ...warnings.map((text) => warning("instances", `${name}: ${text}`, advice))];
}

/** The age of the last event. It is no warning by itself: nobody may have written. Servers of earlier versions do not tell it. */
function lastEventOf({ lastEventAt }: Partial<Instance>, now: number): string {
  if (lastEventAt === undefined) return "";
  return lastEventAt === null ? ", and has sent no event yet" : `, last event ${ago(lastEventAt, now)}`;
}

async function customerResults(admin: Tightbeam, id: string, instances: readonly Instance[]): Promise<CheckResult[]> {
  const [customer, routes] = await Promise.all([admin.admin.customers.get(id), admin.admin.customers.routes(id)]);
  const whose = `of ${customer.name} (${id})`;
  const warned = customer.warnings.map((text) =>
    warning("customers", `${customer.name} (${id}): ${text}`, SECRET_ADVICE),
  );
  if (instances.every(({ provider }) => provider === "sandbox")) return warned;
  return [...warned, ...senderResults(customer, whose), ...routeResults(customer, whose, { routes, instances })];
}

/** Checks whether messages without a sender reach people. */
function senderResults({ id, numbers }: CustomerWithNumbers, whose: string): CheckResult[] {
  const onDefault = numbers.find(({ isDefault }) => isDefault);
  const real = numbers.find(({ provider }) => provider !== "sandbox");
  if (onDefault?.provider !== "sandbox" || real === undefined) return [];
  const found = `messages ${whose} that name no sender go to the sandbox, by ${addressOf(onDefault)}, and reach nobody`;
  return [warning("numbers", found, `tightbeam customers default-number ${addressOf(real)} --customer ${id}`)];
}

/** Checks which instances carry SMS. */
function routeResults(
  customer: CustomerWithNumbers,
  whose: string,
  { routes, instances }: { routes: readonly Route[]; instances: readonly Instance[] },
): CheckResult[] {
  const carrier = instances.find(({ provider }) => CARRIERS.includes(provider));
  const onMacs = numbersOnMacs(customer);
  if (onMacs.length > 0 && routes.length === 0 && carrier !== undefined) {
    const found = `SMS from ${onMacs.join(", ")} ${whose} goes by the Mac: there is no route`;
    const advice = `tightbeam routes set '+=${carrier.id}' --customer ${customer.id} has ${carrier.name} carry it.`;
    return [warning("routes", found, advice)];
  }
  const isReal = customer.numbers.some(({ provider }) => provider !== "sandbox");
  return routes.map(({ prefix, instanceId }) => {
    const instance = instances.find(({ id }) => id === instanceId);
    const found = `SMS ${whose} to ${prefix} goes by ${instance?.name ?? instanceId}`;
    if (!isReal || instance?.provider !== "sandbox") return ok("routes", found);
    const advice = `tightbeam routes set --customer ${customer.id} replaces all routes.`;
    return warning("routes", `${found}, the sandbox, and reaches nobody`, advice);
  });
}

function addressOf({ phoneNumber, email }: CustomerWithNumbers["numbers"][number]): string {
  return phoneNumber ?? email ?? "";
}

function numbersOnMacs({ numbers }: CustomerWithNumbers): string[] {
  return numbers.flatMap(({ phoneNumber, provider }) =>
    phoneNumber === null || provider !== "bluebubbles" ? [] : [phoneNumber],
  );
}
