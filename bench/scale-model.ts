/** The model behind docs/scale.md: the figures that it is made of, and what follows from them. `npm run docs` writes the tables. */

import { count } from "./report.ts";

/**
 * `measured`: docs/performance.md or bench/README.md. `prototype`: measured on PostgreSQL 18.4 before the store was built.
 * `goal`: set for the store on PostgreSQL. `limit`: a constant of the code. `assumed`: of a machine that we do not know.
 */
type Source = "measured" | "prototype" | "goal" | "limit" | "assumed";

interface Figure {
  what: string;
  value: number;
  unit: string;
  source: Source;
}

function figure(what: string, value: number, unit: string, source: Source): Figure {
  return { what, value, unit, source };
}

/** All inputs. A message has three webhooks (`queued`, `sent`, `delivered`) to one endpoint. */
const FIGURES = {
  webhooks: figure("webhooks of a message", 3, "", "measured"),
  mainUs: figure("main thread, a message", 270, "µs", "measured"),
  writerUs: figure("writer's thread, a message", 270, "µs", "measured"),
  deliverUs: figure("thread that sends webhooks, a message", 220, "µs", "measured"),
  allUs: figure("all threads, a message", 1_057, "µs", "measured"),
  onTwoCores: figure(
    "one process on two cores that it shares with load and receivers",
    1_602,
    "messages/s",
    "measured",
  ),
  walSqlite: figure("write-ahead log on SQLite, a message", 22_400, "bytes", "measured"),
  transactions: figure("transactions, a message", 1.14, "", "measured"),
  groupMax: figure("transactions that share a commit, at most", 512, "", "limit"),
  groupMs: figure("time between two commits under load", 4, "ms", "limit"),
  stored: figure("stored until the retention ends, a message", 7_000, "bytes", "measured"),
  kept: figure("stored for ever, a message", 2_000, "bytes", "measured"),
  inFlight: figure("webhooks in flight, a process", 2_048, "", "limit"),
  slowEndpoint: figure("webhooks to one endpoint that takes 300 ms", 188, "webhooks/s", "measured"),
  receiverMs: figure("a receiver's response", 300, "ms", "assumed"),
  diskBytes: figure("what a disk writes", 200_000_000, "bytes/s", "assumed"),
  diskSize: figure("size of a disk", 2_000_000_000_000, "bytes", "assumed"),
  walPostgres: figure("write-ahead log on PostgreSQL, a message", 11_100, "bytes", "measured"),
  serverUs: figure("processor of PostgreSQL, a message", 600, "µs", "measured"),
  walLow: figure("write-ahead log that one PostgreSQL carries, lower bound", 66_000_000, "bytes/s", "prototype"),
  walHigh: figure("write-ahead log that one PostgreSQL carries, upper bound", 110_000_000, "bytes/s", "prototype"),
  hotCustomer: figure("transactions with an event of one customer", 12_800, "transactions/s", "prototype"),
  events: figure("transactions with an event, a message", 3, "", "limit"),
  ofSqlite: figure("one process on PostgreSQL, of one on SQLite, each on one processor", 0.75, "", "measured"),
  nextWorker: figure("what each further process adds, of the first", 0.6, "", "goal"),
  connections: figure("connections of a process", 11, "", "limit"),
  connectionsMax: figure("connections of a PostgreSQL for processes, by default", 97, "", "limit"),
  vacuumSeconds: figure("time between two vacuums of the queues", 15, "s", "prototype"),
  deadRows: figure("dead rows in the queue, a delivery", 2, "", "prototype"),
  takeoverSeconds: figure("until another process owns a dead one's instances", 35, "s", "limit"),
  promoteSeconds: figure("until a standby is primary and processes are connected", 35, "s", "assumed"),
  planned: figure("part of a limit that is planned with", 0.6, "", "assumed"),
  peak: figure("the busiest second, of the average", 5, "", "assumed"),
  routerUs: figure("a router's processor, a request", 100, "µs", "assumed"),
} as const satisfies Record<string, Figure>;

const SECOND_US = 1_000_000;
const DAY_SECONDS = 86_400;

function value(name: keyof typeof FIGURES): number {
  return FIGURES[name].value;
}

/** A resource, and the rate of messages at which it is used up. */
export interface Limit {
  resource: string;
  perMessage: string;
  messagesPerSecond: number;
}

/** The limits of one process on SQLite, the lowest first. */
export function limitsOfSqlite(): Limit[] {
  const limits: Limit[] = [
    threadLimit("main thread", "mainUs"),
    threadLimit("writer's thread", "writerUs"),
    threadLimit("thread that sends webhooks", "deliverUs"),
    {
      resource: "two cores for the process alone",
      perMessage: `${count(value("allUs"))} µs`,
      messagesPerSecond: (2 * SECOND_US) / value("allUs"),
    },
    {
      resource: "commits",
      perMessage: `${value("transactions")} transactions`,
      messagesPerSecond: ((1_000 / value("groupMs")) * value("groupMax")) / value("transactions"),
    },
    {
      resource: "disk writes: the log, and the same pages again at a checkpoint",
      perMessage: `2 × ${bytes(value("walSqlite"))}`,
      messagesPerSecond: value("diskBytes") / (2 * value("walSqlite")),
    },
    {
      resource: "webhooks in flight, with receivers that take 300 ms",
      perMessage: `${value("webhooks")} × ${value("receiverMs")} ms`,
      messagesPerSecond: inFlightLimit(1),
    },
    {
      resource: "one endpoint that takes 300 ms",
      perMessage: `${value("webhooks")} webhooks`,
      messagesPerSecond: value("slowEndpoint") / value("webhooks"),
    },
  ];
  return limits.sort((one, other) => one.messagesPerSecond - other.messagesPerSecond);
}

function threadLimit(resource: string, name: "mainUs" | "writerUs" | "deliverUs"): Limit {
  return { resource, perMessage: `${value(name)} µs`, messagesPerSecond: SECOND_US / value(name) };
}

/** Messages a second whose webhooks fit in flight with slow receivers. */
function inFlightLimit(processes: number): number {
  return (processes * value("inFlight") * 1_000) / value("receiverMs") / value("webhooks");
}

/** Bytes on disk after a time of an average rate: events until the retention ends, messages for ever. */
export function bytesStored(messagesPerSecond: number, retentionDays: number, days: number): number {
  const perDay = messagesPerSecond * DAY_SECONDS;
  return perDay * (Math.min(days, retentionDays) * (value("stored") - value("kept")) + days * value("kept"));
}

/** A PostgreSQL with so many processes. */
export interface Deployment {
  processes: number;
  /** Messages a second that all processes together carry. */
  processesCarry: number;
  /** Messages a second that the database carries: the lower and the upper bound. */
  databaseCarries: [low: number, high: number];
  connections: number;
  /** Dead rows of the queue just before a vacuum. */
  deadRows: number;
  /** Messages a second that the deployment carries by the lower bound. */
  carries: number;
  first: string;
}

export function deploymentOf(processes: number): Deployment {
  const one = value("onTwoCores") * value("ofSqlite");
  const processesCarry = one * (1 + (processes - 1) * value("nextWorker"));
  const low = value("walLow") / value("walPostgres");
  const high = value("walHigh") / value("walPostgres");
  const carries = Math.min(processesCarry, low);
  return {
    processes,
    processesCarry,
    databaseCarries: [low, high],
    connections: processes * value("connections"),
    deadRows: carries * value("webhooks") * value("deadRows") * value("vacuumSeconds"),
    carries,
    first: processesCarry < low ? "processor of the processes" : "write-ahead log",
  };
}

/** The processes with which the database is the limit. */
function processesUntilWal(): number {
  let processes = 1;
  while (deploymentOf(processes).first !== "write-ahead log") processes += 1;
  return processes;
}

/** The cells and machines that a rate takes. */
export interface CellPlan {
  messagesPerSecond: number;
  cells: number;
  perCell: number;
  processes: number;
  cores: number;
  primaryCores: number;
  routerCores: number;
  walPerCell: number;
  diskPerCell: number;
  shareOfCell: number;
  waitingAfterFailure: number;
}

const PLAN_RETENTION_DAYS = 7;
const PLAN_DAYS = 30;

/** Cells for a rate in the busiest second. Messages are kept for a month, their events for a week. */
export function planCells(messagesPerSecond: number): CellPlan {
  const perCellMax = deploymentOf(processesUntilWal()).carries * value("planned");
  const cells = Math.ceil(messagesPerSecond / perCellMax);
  const perCell = messagesPerSecond / cells;
  const processes = processesFor(perCell / value("planned"));
  return {
    messagesPerSecond,
    cells,
    perCell,
    processes: cells * processes,
    cores: cells * processes * 2,
    primaryCores: Math.ceil((perCell * value("serverUs")) / SECOND_US / value("planned")),
    routerCores: Math.ceil((messagesPerSecond * value("routerUs")) / SECOND_US / value("planned")),
    walPerCell: perCell * value("walPostgres"),
    diskPerCell: bytesStored(perCell / value("peak"), PLAN_RETENTION_DAYS, PLAN_DAYS),
    shareOfCell: 1 / cells,
    waitingAfterFailure: perCell * value("promoteSeconds"),
  };
}

function processesFor(messagesPerSecond: number): number {
  let processes = 1;
  while (deploymentOf(processes).processesCarry < messagesPerSecond) processes += 1;
  return processes;
}

/** The tables of docs/scale.md by their names. */
export function scaleTables(): Record<string, string> {
  return {
    figures: table(
      ["Figure", "Value", "Source"],
      Object.values(FIGURES).map(({ what, value: number, unit, source }) => [what, amount(number, unit), source]),
    ),
    sqlite: table(
      ["Resource", "A message takes", "Used up at"],
      limitsOfSqlite().map(({ resource, perMessage, messagesPerSecond }) => [
        resource,
        perMessage,
        rate(messagesPerSecond),
      ]),
    ),
    disk: table(
      ["Average", ...RETENTIONS_DAYS.map((days) => `retention ${days} d`)],
      AVERAGES.map((average) => [
        rate(average),
        ...RETENTIONS_DAYS.map((days) => bytes(bytesStored(average, days, 365))),
      ]),
    ),
    postgres: table(
      [
        "Processes",
        "Connections",
        "The processes carry",
        "The database carries",
        "Dead rows at a vacuum",
        "Breaks first",
      ],
      [1, 2, 4, 8, 16]
        .map(deploymentOf)
        .map((one) => [
          String(one.processes),
          one.connections > value("connectionsMax") ? `${one.connections}: PgBouncer` : String(one.connections),
          rate(one.processesCarry),
          `${one.databaseCarries.map(rounded).join(" to ")} messages/s`,
          rounded(one.deadRows),
          one.first,
        ]),
    ),
    cells: table(["", ...RATES.map(rate)], cellRows(RATES.map(planCells))),
  };
}

const RETENTIONS_DAYS = [1, 7, 30];
const AVERAGES = [10, 100, 1_000];
const RATES = [10_000, 30_000, 100_000];

function cellRows(plans: readonly CellPlan[]): string[][] {
  const row = (name: string, show: (plan: CellPlan) => string) => [name, ...plans.map(show)];
  return [
    row("cells", ({ cells }) => String(cells)),
    row("messages of a cell in the busiest second", ({ perCell }) => rate(perCell)),
    row("processes of two cores, in all", ({ processes }) => String(processes)),
    row("cores for them", ({ cores }) => String(cores)),
    row("databases, a primary and a standby for each cell", ({ cells }) => String(2 * cells)),
    row("cores of a primary", ({ primaryCores }) => String(primaryCores)),
    row("cores for routers", ({ routerCores }) => String(routerCores)),
    row("write-ahead log of a cell", ({ walPerCell }) => `${bytes(walPerCell)}/s`),
    row("disk of a database after a month", ({ diskPerCell }) => bytes(diskPerCell)),
    row("customers who notice the failure of a cell", ({ shareOfCell }) => `${count(shareOfCell * 100)} %`),
    row("requests to repeat after it", ({ waitingAfterFailure }) => rounded(waitingAfterFailure)),
  ];
}

/** The document with its tables replaced. Each is between two comments that name it. */
export function withTables(document: string, tables: Readonly<Record<string, string>>): string {
  return Object.entries(tables).reduce((text, [name, lines]) => {
    const [begin, end] = [`<!-- table: ${name} -->`, `<!-- end: ${name} -->`];
    const parts = text.split(new RegExp(`(?<=${begin}\n)[^]*?(?=${end})`));
    if (parts.length !== 2) throw new Error(`the document must have the table "${name}" once`);
    return parts.join(`\n${lines}\n\n`);
  }, document);
}

function table(head: string[], rows: string[][]): string {
  return [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

function rate(messagesPerSecond: number): string {
  return `${rounded(messagesPerSecond)} messages/s`;
}

/** Two digits that count: what follows from such figures is no more exact. */
function rounded(number: number): string {
  return Number(number.toPrecision(2)).toLocaleString("en-US");
}

const BYTE_UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

function bytes(number: number): string {
  const power = Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(number) / 3));
  return `${Number((number / 1_000 ** power).toPrecision(3))} ${BYTE_UNITS[power]}`;
}

function amount(number: number, unit: string): string {
  if (unit.startsWith("bytes")) return bytes(number) + unit.slice("bytes".length);
  return `${number.toLocaleString("en-US")} ${unit}`.trim();
}
