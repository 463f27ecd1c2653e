/** The look of the fields of forms. */

/** Classes of a field that takes the whole width below its label. */
export const FIELD =
  "mt-1 w-full rounded-md border border-strong-line bg-back px-2.5 py-1.5 outline-none focus:border-accent";
