/** Schema of the query of opt-outs. */

import { Type } from "typebox";
import { Address, closed, page } from "./common.ts";

export const ListOptOuts = closed({ ...page, number: Type.Optional(Address) });
