export type Align = 'left' | 'right'

/**
 * Plain aligned text, two spaces between columns, a rule under the heading.
 * Columns are aligned to the left unless `align` says otherwise. Cells hold no line breaks.
 */
export function formatTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  align: readonly Align[] = [],
): string {
  const wrong = rows.find(row => row.length !== heading.length)
  if (wrong) throw new RangeError(`a row has ${wrong.length} cells, the heading has ${heading.length}`)
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map(row => row[column]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => pad(cell, widths[column] ?? 0, align[column] ?? 'left'))
      .join('  ')
      .trimEnd()
  return [line(heading), line(widths.map(width => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

function pad(cell: string, width: number, align: Align): string {
  return align === 'right' ? cell.padStart(width) : cell.padEnd(width)
}

/** Three significant digits below 100, whole numbers with thousands separators above. */
export function formatNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  return Math.abs(value) >= 100
    ? Math.round(value).toLocaleString('en-US')
    : value.toLocaleString('en-US', { maximumSignificantDigits: 3 })
}

/** 0.153 becomes `15.3 %`. */
export function formatShare(share: number): string {
  return Number.isFinite(share) ? `${(share * 100).toFixed(1)} %` : 'unbounded'
}
