/** The types of events with their sentence and example, from the service's own description, and the way to make one happen. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { TRIGGERS } from "../../sdk/triggers.ts";
import { type AnyEvent, EVENT_TYPES, type EventType } from "../../sdk/wire.ts";
import { useApi } from "./context.ts";

/** Seconds that an event may take after its steps. */
const EVENT_SECONDS_MAX = 30;

/** A field of an event's data. */
export interface EventField {
  name: string;
  description: string;
  isRequired: boolean;
}

/** A type of events. */
export interface EventEntry {
  type: EventType;
  summary: string;
  fields: readonly EventField[];
  example: unknown;
}

interface Schema {
  $ref?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
}

interface Described {
  webhooks: Record<string, { post: { summary: string; requestBody: { content: Record<string, Content> } } }>;
  components: { schemas: Record<string, Schema> };
}

interface Content {
  schema: Schema;
  example: unknown;
}

/** Follows a reference to a named schema. */
function resolved(document: Described, schema: Schema | undefined): Schema {
  const name = schema?.$ref?.split("/").at(-1);
  return (name === undefined ? schema : document.components.schemas[name]) ?? {};
}

function entryOf(document: Described, type: EventType): EventEntry {
  const post = document.webhooks[type]?.post;
  const content = post?.requestBody.content["application/json"];
  const data = resolved(document, resolved(document, content?.schema).properties?.data);
  const fields = Object.entries(data.properties ?? {}).map(([name, property]) => ({
    name,
    description: property.description ?? resolved(document, property).description ?? "",
    isRequired: data.required?.includes(name) ?? false,
  }));
  return { type, summary: post?.summary ?? "", fields, example: content?.example };
}

/** Every type of events. */
export function useCatalogue() {
  return useQuery({
    queryKey: ["reference", "events"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<EventEntry[]> => {
      const response = await fetch("/openapi.json", { signal, credentials: "same-origin" });
      if (!response.ok) throw new Error(`The service answered ${response.status}.`);
      const document = (await response.json()) as Described;
      return EVENT_TYPES.map((type) => entryOf(document, type));
    },
  });
}

/** The steps of a trigger, in words. */
export function stepsOf(type: EventType): string {
  return TRIGGERS[type].steps;
}

/** Makes an event happen in the sandbox, and returns it; null if it did not come in time. */
export function useTrigger(type: EventType) {
  const api = useApi();
  const cache = useQueryClient();
  return useMutation({
    mutationFn: async (): Promise<AnyEvent | null> => {
      const after = (await api.events.list({ limit: 1 })).events[0]?.id;
      const { messageId } = await TRIGGERS[type].run(api);
      return await api.sandbox.wait({ type, after, messageId, timeoutSeconds: EVENT_SECONDS_MAX });
    },
    onSuccess: () => cache.invalidateQueries({ queryKey: ["deliveries"] }),
  });
}
