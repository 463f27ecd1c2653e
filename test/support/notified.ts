/** A service whose primary endpoint gets every event, signed with a known secret, to a receiver of the test. */

import { type Receiver, startReceiver } from "./receiver.ts";
import { startTestService, type TestService } from "./service.ts";

/** The signing secret of every notified service. */
export const SECRET = "a secret of my own";

/** A service and its receiver; `stop` ends both. */
export interface NotifiedService {
  api: TestService;
  receiver: Receiver;
  stop(): Promise<void>;
}

/** Starts both. `env` sets settings of the service. */
export async function startNotifiedService(env: Record<string, string> = {}): Promise<NotifiedService> {
  const [api, receiver] = await Promise.all([startTestService(env), startReceiver()]);
  await api.ask("PUT", "/v1/webhooks", { body: { url: receiver.url, events: ["*"], secret: SECRET } });
  const stop = async () => {
    await api.stop();
    await receiver.stop();
  };
  return { api, receiver, stop };
}
