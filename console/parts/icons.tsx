/** The icons: 16 px strokes in the colour of their text. Each is decoration, so that its button carries the name. */

const PATHS = {
  home: "M2.5 7.2 8 2.7l5.5 4.5V13a.5.5 0 0 1-.5.5H9.75V9.75h-3.5V13.5H3a.5.5 0 0 1-.5-.5z",
  phone: "M5 1.75h6a1 1 0 0 1 1 1v10.5a1 1 0 0 1-1 1H5a1 1 0 0 1-1-1V2.75a1 1 0 0 1 1-1zM7 12h2",
  messages: "M2.5 4a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v6.5a1 1 0 0 1-1 1H7l-3 2.25V11.5h-.5a1 1 0 0 1-1-1z",
  webhooks: "M5.7 7.8A3 3 0 1 1 10.6 4.5M9.5 6 6.8 10.8M4.5 7.9a3 3 0 1 0 3 4.2h4.25M12.3 8.2a3 3 0 1 1-2 5.3",
  logs: "M3 4h10M3 8h10M3 12h6",
  settings:
    "M8 5.75a2.25 2.25 0 1 0 0 4.5 2.25 2.25 0 0 0 0-4.5zM8 1.75v2M8 12.25v2M1.75 8h2M12.25 8h2M3.6 3.6 5 5M11 11l1.4 1.4M3.6 12.4 5 11M11 5l1.4-1.4",
  docs: "M3 2.75h4A1.5 1.5 0 0 1 8.5 4v9.5A1.25 1.25 0 0 0 7.25 12.25H3zM13.5 2.75h-3.5A1.5 1.5 0 0 0 8.5 4v9.5a1.25 1.25 0 0 1 1.25-1.25h3.75z",
  search: "M7 2.75a4.25 4.25 0 1 0 0 8.5 4.25 4.25 0 0 0 0-8.5zM10.2 10.2l3.3 3.3",
  close: "M4 4l8 8M12 4l-8 8",
  check: "M3.5 8.5 6.5 11.5 12.5 4.75",
  copy: "M5.75 5.75h7v7.5h-7zM10.25 5.75v-3h-7v7.5h2.5",
  chevronRight: "M6 3.5 10.5 8 6 12.5",
  chevronDown: "M3.5 6 8 10.5 12.5 6",
  chevronLeft: "M10 3.5 5.5 8l4.5 4.5",
  arrowUp: "M8 13V3M4 7l4-4 4 4",
  arrowDown: "M8 3v10M4 9l4 4 4-4",
  arrowUpRight: "M4.5 11.5l7-7M6 4.5h5.5V10",
  arrowDownLeft: "M11.5 4.5l-7 7M10 11.5H4.5V6",
  retry: "M13 8a5 5 0 1 1-1.5-3.57M13 2.5v2.75h-2.75",
  send: "M2.5 13.5 14 8 2.5 2.5l1.5 5.5zM4 8h5",
  stop: "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5zM4.2 4.2l7.6 7.6",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  moon: "M13 9.3A5.5 5.5 0 1 1 6.7 3a4.5 4.5 0 0 0 6.3 6.3z",
  screen: "M2.5 3.25h11v7.5h-11zM6 13.5h4M8 10.75v2.75",
  wire: "M2 8h2.5L6.5 3.5 9.5 12.5 11.5 8H14",
  menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
  help: "M6 6a2 2 0 1 1 2.9 1.8c-.6.3-.9.7-.9 1.3v.4M8 11.75v.01",
  out: "M9.5 2.75H13.25v10.5H9.5M7 5 4 8l3 3M4 8h6",
  clock: "M8 2.25a5.75 5.75 0 1 0 0 11.5 5.75 5.75 0 0 0 0-11.5zM8 5v3.25l2 1.25",
  dockBottom: "M2.5 2.75h11v10.5h-11zM2.5 9.5h11",
  dockRight: "M2.5 2.75h11v10.5h-11zM9.5 2.75v10.5",
  warning: "M8 2.5 14.25 13.5H1.75zM8 6.5v3.25M8 11.6v.01",
  play: "M5 3.25v9.5L12.5 8z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  external: "M6.5 3.25H3.25v9.5h9.5V9.5M9.25 2.75h4v4M13 3 7.5 8.5",
  filter: "M2.5 3.5h11L9.25 8.5v4l-2.5 1v-5z",
  plus: "M8 3v10M3 8h10",
  person: "M8 2.5a2.75 2.75 0 1 0 0 5.5 2.75 2.75 0 0 0 0-5.5zM2.75 13.5a5.25 5.25 0 0 1 10.5 0",
  lock: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  video: "M2.5 4.75a1 1 0 0 1 1-1h6a1 1 0 0 1 1 1v6.5a1 1 0 0 1-1 1h-6a1 1 0 0 1-1-1zM10.5 7 13.75 5v6L10.5 9",
} as const;

/** Name of an icon. */
export type IconName = keyof typeof PATHS;

/** An icon, 16 px unless `size` says otherwise. */
export function Icon({ name, size = 16, className = "" }: { name: IconName; size?: number; className?: string }) {
  return (
    <svg
      aria-hidden="true"
      className={`shrink-0 ${className}`}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.4"
      strokeLinecap="round"
      strokeLinejoin="round"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The mark of the product. */
export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg aria-hidden="true" className="shrink-0" width={size} height={size} viewBox="0 0 32 32">
      <rect width="32" height="32" rx="8" className="fill-accent-solid" />
      <path
        d="M7 21 25 9M7 21l7.5 2.5L25 9"
        fill="none"
        stroke="#fff"
        strokeWidth="2.4"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
