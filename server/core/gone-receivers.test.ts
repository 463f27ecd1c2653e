import assert from "node:assert/strict";
import { test } from "node:test";
import { GoneReceivers } from "./gone-receivers.ts";

const DAY_MS = 86_400_000;
const ENDPOINT = { id: "wh_1", url: "https://a.example/", goneSince: null } as const;

/** The marks that answers bring at one endpoint: `at` is the place of the answer, `gone` whether the mark is set or removed. */
function marksOf(
  statuses: readonly (number | null)[],
  { everyMs = 1_000, endpoint = ENDPOINT as Parameters<GoneReceivers["answered"]>[0] } = {},
): { at: number; gone: boolean }[] {
  const receivers = new GoneReceivers();
  return statuses.flatMap((status, place) => {
    const mark = receivers.answered(endpoint, { status }, place * everyMs);
    if (mark === null) return [];
    assert.deepEqual(mark, { endpointId: "wh_1", url: ENDPOINT.url, goneSince: mark.goneSince && place * everyMs });
    return [{ at: place + 1, gone: mark.goneSince !== null }];
  });
}

const gone = (count: number): number[] => Array.from({ length: count }, () => 410);

test("ten 410 in a row within a day mark an endpoint as gone, and the next 2xx removes the mark", () => {
  const SET = { at: 10, gone: true };
  const cases: [string, readonly (number | null)[], { at: number; gone: boolean }[]][] = [
    ["nine", gone(9), []],
    ["ten", gone(10), [SET]],
    ["a 500 among them", [...gone(9), 500, ...gone(9)], []],
    ["ten after a 500", [...gone(9), 500, ...gone(10)], [{ at: 20, gone: true }]],
    ["a 200 among them", [...gone(9), 200, ...gone(9)], []],
    ["attempts without an answer among them", [...gone(5), null, null, ...gone(5)], [{ at: 12, gone: true }]],
    ["a 2xx at once", [...gone(10), 204], [SET, { at: 11, gone: false }]],
    ["a 500 and then a 2xx", [...gone(10), 500, 200], [SET, { at: 12, gone: false }]],
    ["other failures only", [...gone(10), 500, 302, null, 503], [SET]],
    ["only the first 2xx", [...gone(10), 200, 200], [SET, { at: 11, gone: false }]],
    ["gone again", [...gone(10), 200, ...gone(10)], [SET, { at: 11, gone: false }, { at: 21, gone: true }]],
    ["failures that are not 410", Array.from({ length: 30 }, (_, place) => [404, 500, 429][place % 3] ?? 0), []],
  ];
  for (const [title, statuses, expected] of cases) assert.deepEqual(marksOf(statuses), expected, title);
});

test("an endpoint is reported again with each 410 until its record says so", () => {
  assert.deepEqual(
    marksOf(gone(12)).map(({ at }) => at),
    [10, 11, 12],
  );
});

test("the first and the last of the ten are a day apart at most", () => {
  assert.equal(marksOf(gone(30), { everyMs: DAY_MS / 9 }).length, 21);
  assert.deepEqual(marksOf(gone(30), { everyMs: DAY_MS / 9 + 1 }), []);
});

test("an endpoint whose record says that it is gone loses the mark with the first 2xx, also after a restart", () => {
  const endpoint = { ...ENDPOINT, goneSince: 1 };
  assert.deepEqual(marksOf([410, 500, null, 200], { endpoint }), [{ at: 4, gone: false }]);
  assert.deepEqual(marksOf(gone(20), { endpoint }), []);
});

test("another URL begins a row of its own", () => {
  const receivers = new GoneReceivers();
  const answer = (endpoint: Parameters<GoneReceivers["answered"]>[0], status = 410) =>
    receivers.answered(endpoint, { status }, 0);
  for (let count = 0; count < 9; count += 1) assert.equal(answer(ENDPOINT), null);
  const moved = { ...ENDPOINT, url: "https://b.example/" };
  for (let count = 0; count < 9; count += 1) assert.equal(answer(moved), null);
  assert.deepEqual(answer(moved), { endpointId: "wh_1", url: moved.url, goneSince: 0 });
  assert.equal(answer(ENDPOINT, 200), null, "a late answer of the former URL says nothing about the present one");
  assert.deepEqual(answer(moved, 200), { endpointId: "wh_1", url: moved.url, goneSince: null });
});

test("endpoints are counted apart, and the answers of 10,000 are remembered", () => {
  const receivers = new GoneReceivers();
  const answer = (id: number) => receivers.answered({ ...ENDPOINT, id: `wh_${id}` }, { status: 410 }, 0);
  for (let count = 0; count < 9; count += 1) for (let id = 0; id < 10_001; id += 1) answer(id);
  assert.equal(answer(0), null, "each was the oldest when its turn came");
  const few = new GoneReceivers();
  for (let count = 0; count < 9; count += 1)
    for (let id = 0; id < 100; id += 1) few.answered({ ...ENDPOINT, id: `wh_${id}` }, { status: 410 }, 0);
  assert.notEqual(few.answered({ ...ENDPOINT, id: "wh_0" }, { status: 410 }, 0), null);
});
