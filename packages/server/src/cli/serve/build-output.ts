import { stripVTControlCharacters } from 'node:util'

const linesMax = 30
const lineLengthMax = 200

/**
 * The last lines that a build printed, fit for a page that anybody can open: without the machine's paths outside of the
 * checkout, and without stack traces, which name only code of the bundler.
 */
export function lastLines(output: string, checkout: string): string[] {
  return stripVTControlCharacters(output)
    .replaceAll(`file://${checkout}/`, '')
    .replaceAll(`${checkout}/`, '')
    .replace(/file:\/\/\S+/g, '…')
    .replace(/(?<![\w.:/<-])(?:\/[\w.@+~-]+){2,}/g, '…')
    .split('\n')
    .map(line => line.trimEnd().slice(0, lineLengthMax))
    .filter(line => line !== '' && !/^\s*(?:\d+: |at |Stack backtrace:)/.test(line))
    .slice(-linesMax)
}
