/** The webhook endpoints of all customers, which keep what they were sent. */

export interface Posted {
  id: string;
  type: string;
  subject: string;
}

export class CustomersServer {
  readonly posted: Posted[] = [];

  async post(_customer: string, { id, type, subject }: Posted): Promise<"ok"> {
    this.posted.push({ id, type, subject });
    return "ok";
  }
}
