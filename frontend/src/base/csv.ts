// Tables as text (RFC 4180). A text that a spreadsheet would evaluate gets an apostrophe in front
// of it, as OWASP recommends against CSV injection, because names of modules come from the log.
// Numbers do not change.

export type CsvCell = string | number | null;

export function csvOf(rows: readonly (readonly CsvCell[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(",")}\r\n`).join("");
}

function cellOf(cell: CsvCell): string {
  const text = cell === null ? "" : typeof cell === "string" && /^[=+\-@\t\r\n＝＋－＠]/.test(cell) ? `'${cell}` : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
