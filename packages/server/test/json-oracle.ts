import { type JSONPath, visit } from 'jsonc-parser'
import { shownName } from '../src/platform/http/shown-name.ts'

/**
 * The detail of the refusal of a well-formed JSON text, or null, found with another parser. Slow and plain;
 * tests compare the service's own scan with it.
 */
export function faultByWalk(text: string): string | null {
  const seen: Set<string>[] = []
  let fault: string | null = null
  const find = (path: JSONPath, message: string) => {
    fault ??= `${pathOf(path)}: ${message}`
  }
  const judgeText = (value: string, path: JSONPath) => {
    if (value.includes('\0')) find(path, 'must not contain NUL')
    else if (!value.isWellFormed()) find(path, 'must not contain an unpaired surrogate')
  }
  visit(text, {
    onObjectBegin: () => void seen.push(new Set()),
    onObjectEnd: () => void seen.pop(),
    onObjectProperty: (name, _offset, _length, _line, _column, pathTo) => {
      const path = [...pathTo(), name]
      judgeText(name, path)
      if (seen.at(-1)?.has(name)) find(path, 'is given twice')
      seen.at(-1)?.add(name)
    },
    onLiteralValue: (value, offset, length, _line, _column, pathTo) => {
      if (typeof value === 'string') judgeText(value, pathTo())
      if (typeof value !== 'number') return
      if (!Number.isFinite(value)) find(pathTo(), 'is too large a number')
      else if (/^-?\d+$/.test(text.slice(offset, offset + length)) && !Number.isSafeInteger(value))
        find(pathTo(), 'is an integer beyond 2^53; send it as a string')
    },
  })
  return fault
}

const pathOf = (path: JSONPath): string =>
  path.map(step => (typeof step === 'number' ? `${step}` : shownName(step))).join('.') || 'body'
