/** Messages: the list and one message side by side; the search is in the address. */

import { useState } from "react";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/empty.tsx";
import { useKeys } from "../../parts/keys.ts";
import type { ScreenProps } from "../../parts/screen.ts";
import { SearchList } from "../../parts/search-list.tsx";
import { Split } from "../../parts/split.tsx";
import { MESSAGES } from "./columns.tsx";
import { Compose } from "./compose.tsx";
import { MessageDetail } from "./detail.tsx";

/** The screen of `/messages` and `/m/:id`. */
export function Messages({ params }: ScreenProps) {
  const id = params.id ?? null;
  return (
    <Split
      {...MESSAGES}
      id={id}
      listPath="/messages"
      pathOf={(messageId) => `/m/${messageId}`}
      list={(onOpen) => <MessageList openId={id} onOpen={onOpen} />}
      detail={(messageId, onClose) => <MessageDetail id={messageId} onClose={onClose} />}
    />
  );
}

function MessageList({ openId, onOpen }: { openId: string | null; onOpen: (id: string) => void }) {
  const [isComposing, setComposing] = useState(false);
  const compose = () => setComposing(true);
  useKeys([{ key: "c", label: "Send a message", run: compose }]);
  return (
    <>
      <SearchList
        list={MESSAGES}
        openId={openId}
        onOpen={onOpen}
        verbs={
          <Button tone="primary" icon="send" className="h-8" onClick={compose}>
            Send
          </Button>
        }
        empty={
          <Empty
            icon="messages"
            title="No messages yet"
            action={
              <Button tone="primary" icon="send" hint="c" onClick={compose}>
                Send a message
              </Button>
            }
          >
            Messages of both directions appear here as they happen.
          </Empty>
        }
      />
      <Compose open={isComposing} onClose={() => setComposing(false)} onSent={onOpen} />
    </>
  );
}
