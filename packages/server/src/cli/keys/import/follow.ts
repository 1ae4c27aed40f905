const barWidth = 24

/** Shows on a terminal how many records are done, in a line that is written over. Elsewhere nothing is printed. */
export function followProgress(
  label: string,
  total: number | null,
  stderr: Pick<NodeJS.WriteStream, 'isTTY' | 'write'> = process.stderr,
): { at(records: number): void; end(): void } {
  const isShown = stderr.isTTY === true
  return {
    at(records) {
      if (isShown) stderr.write(`\r\u001B[K${label} ${sayProgress(records, total)}`)
    },
    end() {
      if (isShown) stderr.write('\r\u001B[K')
    },
  }
}

function sayProgress(records: number, total: number | null): string {
  const count = records.toLocaleString('en')
  if (total === null || total === 0) return `${count} records`
  const part = Math.min(1, records / total)
  const full = Math.round(part * barWidth)
  return `${'█'.repeat(full)}${'░'.repeat(barWidth - full)} ${Math.floor(part * 100)}% of ${total.toLocaleString('en')}`
}
