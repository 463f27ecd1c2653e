/** How a noun's file tells the reference of its routes, records and events. Builds nothing by itself. */

import { type Static, type TObject, type TProperties, type TSchema, Type } from "typebox";
import type { ErrorCode, EventType } from "../../../sdk/wire.ts";
import type { Method } from "../route.ts";

/** What the reference says of a route beyond what its declaration does. */
export interface Operation {
  /** `operationId`, unique: what client generators make a method name of. */
  id: string;
  /** What it does, in a few words without a full stop. */
  summary: string;
  /** What it promises, and what a caller may not expect. */
  description: string;
  /** Status of a success; 200 unless given. With 201 and 202, a repeat by idempotency key answers 200. */
  status?: 200 | 201 | 202;
  /** `data` of a success. */
  answer: TSchema;
  example: unknown;
  /** What a success with 200 may answer otherwise than as the record of a repeat, and when. */
  instead?: { answer: TSchema; when: string };
  /** Codes of its own, beside those that every route can answer. */
  errors?: readonly ErrorCode[];
  /** A body to send. */
  body?: unknown;
  /** A query to send. */
  query?: Readonly<Record<string, string>>;
  /** Properties of the body that are published otherwise than they are declared: their own check comes later. */
  parts?: Readonly<Record<string, TSchema>>;
  /** Headers of the request that only this operation reads. */
  headers?: Readonly<Record<string, ToldParameter>>;
  /** What it answers in place of, or beside, the envelope, by content type. */
  contents?: Readonly<Record<string, Content>>;
  /** Whether there is no envelope: `contents` is all. */
  bare?: boolean;
}

/** An answer that is not in the envelope. */
export interface Content {
  schema: TSchema;
  example?: unknown;
}

/** An event as the reference tells of it. */
export interface Happening {
  type: EventType;
  /** When it is sent, in one sentence. */
  summary: string;
  data: TSchema;
  example: unknown;
}

/** A parameter of a path or header, told by hand. */
export interface ToldParameter {
  description: string;
  example: string;
}

export type RouteName = `${Method} /${string}`;

/** One noun's part of the reference. */
export interface Section {
  tag: string;
  description: string;
  /** The parameters of its paths, by name. */
  parameters?: Readonly<Record<string, ToldParameter>>;
  operations: Readonly<Record<RouteName, Operation>>;
  events?: readonly Happening[];
}

/** An operation whose example has the type of its answer. */
export function operation<Schema extends TSchema>(
  told: Operation & { answer: Schema; example: Static<Schema> },
): Operation {
  return told;
}

/** An event whose example has the type of its data. */
export function happening<Schema extends TSchema>(
  type: EventType,
  summary: string,
  data: Schema,
  example: Static<Schema>,
): Happening {
  return { type, summary, data, example };
}

/** Keyword that names the component which a schema is published as; other schemas refer to it. */
export const COMPONENT = "x-component";

/** A record as it is answered, published under its name: these fields, and in a later version others besides. */
export function component<Properties extends TProperties>(name: string, properties: Properties): TObject<Properties> {
  return Type.Object(properties, { [COMPONENT]: name });
}

/** An instant as it is answered: ISO 8601 in UTC with milliseconds. */
export const At = Type.String({ format: "date-time" });

/** A value that may be missing: records carry every field. */
export function orNull<Schema extends TSchema>(schema: Schema) {
  return Type.Union([schema, Type.Null()]);
}

export const AtOrNull = orNull(At);
export const TextOrNull = orNull(Type.String());

/** An id of one kind: opaque beyond its prefix, and sorted by creation. */
export function id(prefix: string) {
  return Type.String({ pattern: `^${prefix}_` });
}

/** `pagination` of a list. */
export const Pagination = component("Pagination", {
  hasMore: Type.Boolean(),
  nextCursor: TextOrNull,
});

/** Any JSON object of the caller's own. */
export const AnyObject = Type.Unsafe<Record<string, unknown>>({ type: "object" });
