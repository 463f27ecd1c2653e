/**
 * A helper process of the benchmark: starts it, sends requests to it and ends it; and the child's side of that channel.
 */

import { type ChildProcess, fork } from "node:child_process";

interface Asked<Question> {
  id: number;
  question: Question;
}

type Reply<Answer> = { id: number; answer: Answer } | { id: number; failed: string };

/** A process that responds to requests, sequential or concurrent. It ends with its parent. */
export class Child<Question, Answer> {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>();
  #nextId = 1;

  /** Starts `file`, a script in this directory that calls `answerParent`. */
  constructor(file: string) {
    this.#process = fork(new URL(file, import.meta.url), { serialization: "advanced" });
    this.#process.on("message", (reply: Reply<Answer>) => {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if ("failed" in reply) waiting?.reject(new Error(`${file}: ${reply.failed}`));
      else waiting?.resolve(reply.answer);
    });
    this.#process.on("exit", (code) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`${file} ended with ${code}`));
      this.#waiting.clear();
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** Rejects with the child's error, or if the child ends before it responds. */
  ask(question: Question): Promise<Answer> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#process.send({ id, question } satisfies Asked<Question>);
    });
  }

  stop(): void {
    this.#process.kill();
  }
}

/** The child's side: responds to each request of the parent with `answer`, and ends when the parent has ended. */
export function answerParent<Question, Answer>(answer: (question: Question) => Answer | Promise<Answer>): void {
  const respond = (reply: Reply<Answer>) => void process.send?.(reply);
  process.on("message", async ({ id, question }: Asked<Question>) => {
    try {
      respond({ id, answer: await answer(question) });
    } catch (error) {
      respond({ id, failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
    }
  });
  process.on("disconnect", () => process.exit(0));
}
