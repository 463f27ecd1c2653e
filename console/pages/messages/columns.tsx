/** The list of messages: its columns, and the searches of it. */

import type { Message } from "../../../sdk/wire.ts";
import { contactOf, messageSource } from "../../api/messages.ts";
import { Badge, StatusBadge } from "../../parts/badge.tsx";
import { ContactName } from "../../parts/contact-name.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Icon } from "../../parts/icons.tsx";
import type { SearchableList } from "../../parts/search-list.tsx";
import { Time } from "../../parts/time.tsx";
import { MESSAGE_FIELDS, queryOf, SAVED_SEARCHES } from "./search.ts";

/** One line of what a message says. */
function summaryOf({ content, attachments, messageType }: Message): string {
  if (content.text !== null && content.text !== "") return content.text;
  const files = attachments.length + content.mediaUrls.length;
  if (files > 0) return `${files} ${files === 1 ? "file" : "files"}`;
  return messageType === "text" ? "(no text)" : messageType;
}

/** The name of a channel, for people. */
export function channelName(channel: Message["channel"]): string {
  return channel === "imessage" ? "iMessage" : "SMS";
}

/** Marks a message that a person wrote in Messages on the Mac, in front of what follows; nothing for any other. */
export function DeviceBadge({ origin }: Pick<Message, "origin">) {
  return origin === "device" ? (
    <>
      <Badge title="A person wrote it in Messages on the Mac.">written on the device</Badge>{" "}
    </>
  ) : null;
}

/** The columns. A narrow list has the text in a second line. */
const COLUMNS: readonly Column<Message>[] = [
  {
    id: "direction",
    header: "Direction",
    isQuiet: true,
    width: "16px",
    cell: ({ direction }) => (
      <span title={direction} className={direction === "inbound" ? "text-good" : "text-faint"}>
        <Icon name={direction === "inbound" ? "arrowDownLeft" : "arrowUpRight"} size={14} className="inline" />
        <span className="sr-only">{direction}</span>
      </span>
    ),
  },
  {
    id: "contact",
    header: "Contact",
    width: "minmax(112px, 1fr)",
    cell: (message) => <ContactName address={contactOf(message)} />,
  },
  {
    id: "text",
    header: "Text",
    width: "minmax(0, 4fr)",
    below: 520,
    cell: (message) => (
      <span className="text-soft">
        <DeviceBadge origin={message.origin} />
        {summaryOf(message)}
      </span>
    ),
  },
  {
    id: "channel",
    header: "Channel",
    width: "72px",
    from: 640,
    cell: ({ channel }) => <span className="text-soft">{channelName(channel)}</span>,
  },
  {
    id: "status",
    header: "Status",
    width: "104px",
    cell: ({ status }) => <StatusBadge status={status} />,
  },
  {
    id: "createdAt",
    header: "Age",
    width: "56px",
    align: "right",
    cell: ({ createdAt }) => <Time at={createdAt} className="text-faint" />,
  },
];

/** The list. */
export const MESSAGES: SearchableList<Message> = {
  one: "message",
  many: "messages",
  fields: MESSAGE_FIELDS,
  saved: SAVED_SEARCHES,
  sourceOf: (search, now) => messageSource(queryOf(search, now)),
  columns: COLUMNS,
};
