import { isDeepStrictEqual } from 'node:util'
import type { Json } from './case.ts'

/** Compares what a node did with what a case says. Returns differences in words; none: it is as it should be. */

const show = (value: unknown): string => (value === undefined ? 'nothing' : JSON.stringify(value))
const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Every member of `gives`; `delay` is a range, `headers` are those named, and `{ any: [] }` lists what may be. */
export function differences(gives: Json, got: Json): string[] {
  return Object.entries(gives).flatMap(([name, expected]) => {
    const actual = got[name]
    if (name === 'delay' && Array.isArray(expected)) return delayDiffers(expected as number[], actual)
    if (name === 'headers' && isObject(expected)) return headersDiffer(expected, actual)
    return isAsExpected(expected, actual) ? [] : [`${name}: expected ${show(expected)}, got ${show(actual)}`]
  })
}

function isAsExpected(expected: unknown, actual: unknown): boolean {
  if (isObject(expected) && Array.isArray(expected.any))
    return expected.any.some(each => isAsExpected(each, actual))
  return isDeepStrictEqual(actual, expected) || (expected === null && actual === undefined)
}

function delayDiffers([least = 0, most = 0]: readonly number[], actual: unknown): string[] {
  if (typeof actual === 'number' && actual >= least && actual <= most) return []
  return [`delay: expected ${least} to ${most}, got ${show(actual)}`]
}

function headersDiffer(expected: Json, actual: unknown): string[] {
  const headers = isObject(actual) ? actual : {}
  return Object.entries(expected).flatMap(([name, value]) =>
    isAsExpected(value, headers[name])
      ? []
      : [`headers.${name}: expected ${show(value)}, got ${show(headers[name])}`],
  )
}

/** Whether `actual` has all members of `expected`, at any depth; lists have the same length, and `{ unordered: [] }` any order. */
export function contains(actual: unknown, expected: unknown): boolean {
  if (Array.isArray(expected))
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((each, at) => contains(actual[at], each))
    )
  if (!isObject(expected)) return Object.is(actual, expected)
  if (Array.isArray(expected.unordered)) return hasEach(actual, expected.unordered)
  return isObject(actual) && Object.entries(expected).every(([name, value]) => contains(actual[name], value))
}

function hasEach(actual: unknown, expected: readonly unknown[]): boolean {
  if (!Array.isArray(actual) || actual.length !== expected.length) return false
  const left: unknown[] = [...actual]
  return expected.every(each => {
    const at = left.findIndex(one => contains(one, each))
    if (at !== -1) left.splice(at, 1)
    return at !== -1
  })
}
