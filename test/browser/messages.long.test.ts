/** The list of messages and one message, as people read them. */

import assert from "node:assert/strict";
import type { Locator } from "playwright-core";
import { browserTest } from "../support/browser.ts";
import { VIEWS } from "../support/screens.ts";
import { until } from "../support/wait.ts";

browserTest(
  "every row of messages shows its text: on a phone's width, on a desktop, and beside an open message",
  async (stage) => {
    const { ask } = stage.service;
    const texts = ["The peonies leave the shop at three", "Two more vases are on the list"];
    const ids: string[] = [];
    for (const text of texts)
      ids.push((await ask("POST", "/v1/messages", { to: "+15005550100", content: { text } })).data.id);
    const page = await stage.signedIn();
    for (const { width, height } of VIEWS.filter(({ theme }) => theme === "light")) {
      await page.setViewportSize({ width, height });
      for (const path of ["/messages", `/m/${ids[0]}`]) {
        if (path !== "/messages" && width < 1024) continue;
        await page.goto(stage.service.url + path);
        for (const text of texts) {
          const row = page.getByRole("row").filter({ hasText: text });
          // A row that is drawn anew at this moment, since its message has changed, has no place.
          const boxOf = (one: Locator) => until(() => one.boundingBox(), { what: `${text} at ${width} pixels` });
          const [inside, around] = [await boxOf(row.getByText(text)), await boxOf(row)];
          assert.ok(inside.y >= around.y && inside.y + inside.height <= around.y + around.height, "inside its row");
          assert.ok(inside.x >= 0 && inside.x + inside.width <= width, "inside the page");
        }
        const boxes = await Promise.all((await page.getByRole("row").all()).map((row) => row.boundingBox()));
        const rows = boxes.filter((box) => box !== null).toSorted((one, other) => one.y - other.y);
        const overlaps = rows.filter(({ y }, index) => {
          const before = rows[index - 1];
          return before !== undefined && before.y + before.height > y + 1;
        });
        assert.deepEqual(overlaps, []);
      }
    }
  },
);
