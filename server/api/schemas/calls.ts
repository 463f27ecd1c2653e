/** Schemas of calls. */

import { Type } from "typebox";
import { CALL_STATUSES } from "../../../sdk/wire.ts";
import { closed, page } from "./common.ts";

/** Query of `GET /v1/facetime/calls`. */
export const ListCalls = closed({ ...page, status: Type.Optional(Type.Enum(CALL_STATUSES)) });
