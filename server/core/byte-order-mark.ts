/** The text after the byte order mark that editors and shells of Windows put in front of UTF-8, and that JSON.parse refuses. */
export function withoutByteOrderMark(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}
