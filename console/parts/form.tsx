/** Forms: a refusal of the service is shown at the fields that it is about, and the first of them gets the focus. */

import {
  createContext,
  type FormEvent,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react";
import { problemsOf } from "./form-problems.ts";
import { toastError } from "./toasts.tsx";

/** Classes of a field, whatever its size. */
export const FIELD_LOOK =
  "rounded-md border border-strong-line bg-back outline-none focus:border-accent aria-invalid:border-bad aria-invalid:focus:ring-2 aria-invalid:focus:ring-bad/30";

/** Classes of a `Field` in a row that wraps: its problem is a line of its own below the row. */
export const IN_ROW = "contents [&>[role=alert]]:order-last [&>[role=alert]]:w-full";

/** Classes of a field that takes the whole width below its label. */
export const FIELD = `mt-1 w-full px-2.5 py-1.5 ${FIELD_LOOK}`;

interface FormState {
  problems: ReadonlyMap<string, string>;
  forget: (name: string) => void;
}

const NONE: ReadonlyMap<string, string> = new Map();
const FormContext = createContext<FormState>({ problems: NONE, forget: () => {} });

interface FormProps {
  /** Sends the form. It gives `refuse` the error of a request that failed. */
  onSubmit: (refuse: (error: unknown) => void) => void;
  className?: string;
  children: ReactNode;
}

/** A form. A refusal that is about none of its fields is told by a toast. A field that is changed loses its mark. */
export function Form({ onSubmit, className, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [problems, setProblems] = useState(NONE);
  const [refusals, setRefusals] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each refusal moves the focus, and nothing else does.
  useEffect(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refusals]);
  const forget = useCallback(
    (name: string) =>
      setProblems((before) => (before.has(name) ? new Map([...before].filter(([other]) => other !== name)) : before)),
    [],
  );
  const refuse = (error: unknown) => {
    const { atFields, isElsewhere } = problemsOf(error, namesOf(form.current));
    if (isElsewhere) toastError(error);
    setProblems(atFields);
    setRefusals((count) => count + 1);
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setProblems(NONE);
    onSubmit(refuse);
  };
  const state = useMemo(() => ({ problems, forget }), [problems, forget]);
  return (
    <form
      ref={form}
      noValidate
      onSubmit={submit}
      onChange={({ target }) => "name" in target && forget(String(target.name))}
      className={className}
    >
      <FormContext value={state}>{children}</FormContext>
    </form>
  );
}

/** The names of a form's fields, in the order of the page. */
function namesOf(form: HTMLFormElement | null): string[] {
  const names = [...(form?.elements ?? [])].map((element) => element.getAttribute("name") ?? "");
  return [...new Set(names)].filter((name) => name !== "");
}

/** Removes the mark of a field that something else than its input has changed. */
export function useForgetProblem(): (name: string) => void {
  return useContext(FormContext).forget;
}

/** Attributes of the input of a field. */
export interface FieldAttributes {
  id: string;
  name: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
}

interface FieldProps {
  /** The path of the field in the request, such as `content.text`. */
  name: string;
  label: string;
  /** Whether only screen readers get the label. */
  isLabelHidden?: boolean;
  className?: string;
  /** The input, with the attributes. */
  children: (attributes: FieldAttributes) => ReactNode;
}

/** A field with its label above it, and the problem of it below. */
export function Field({ name, label, isLabelHidden = false, className = "", children }: FieldProps) {
  const { attributes, problem } = useField(name);
  return (
    <div className={className === "" ? "min-w-0" : className}>
      <label htmlFor={attributes.id} className={isLabelHidden ? "sr-only" : "block font-medium"}>
        {label}
      </label>
      {children(attributes)}
      {problem}
    </div>
  );
}

/** Boxes to tick, or buttons of a choice, as one field. The first of them takes the attributes, the others its name. */
export function FieldGroup({ name, label, children }: Pick<FieldProps, "name" | "label" | "children">) {
  const { attributes, problem } = useField(name);
  return (
    <fieldset className="min-w-0">
      <legend className="font-medium">{label}</legend>
      {children(attributes)}
      {problem}
    </fieldset>
  );
}

/** The sentence about a wrong field, below it. */
export function Problem({ id, children }: { id: string; children: string }) {
  return (
    <p id={id} role="alert" className="mt-1 text-bad">
      {children}
    </p>
  );
}

function useField(name: string): { attributes: FieldAttributes; problem: ReactNode } {
  const id = useId();
  const text = useContext(FormContext).problems.get(name);
  const isWrong = text !== undefined;
  return {
    attributes: {
      id,
      name,
      "aria-invalid": isWrong || undefined,
      "aria-describedby": isWrong ? `${id}-problem` : undefined,
    },
    problem: isWrong && <Problem id={`${id}-problem`}>{text}</Problem>,
  };
}
