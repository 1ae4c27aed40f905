import assert from 'node:assert/strict'
import { globSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { checkout, documentsWithText } from './documents.ts'

const bytesMax = 150_000

/** A picture in a page: the addresses of both themes, from the checkout's directory. */
interface Shown {
  page: string
  dark: string | undefined
  light: string | undefined
  alt: string | undefined
}

const picturesOf = (path: string, text: string): Shown[] =>
  [...text.matchAll(/<picture>([\s\S]*?)<\/picture>|<img\b[^>]*>|!\[[^\]]*\]\([^)]*\)/g)].map(([whole]) => {
    const at = (pattern: RegExp) => {
      const [, found] = pattern.exec(whole) ?? []
      return found === undefined ? undefined : join(dirname(path), found)
    }
    return {
      page: path,
      dark: at(/<source media="\(prefers-color-scheme: dark\)" srcset="([^"]+)">/),
      light: at(/<img\b[^>]*\bsrc="([^"]+)"/),
      alt: /<img\b[^>]*\balt="([^"]+)"/.exec(whole)?.[1],
    }
  })

/** Why a picture is not as it should be; null if it is. */
function faultOf({ dark, light, alt }: Shown): string | null {
  if (dark === undefined || light === undefined) return 'a theme is missing'
  if (dark !== light.replace('-light.', '-dark.') || dark === light) return 'the themes show different things'
  if (alt === undefined) return 'there is no text in its place'
  for (const path of [dark, light]) {
    const size = statSync(join(checkout, path), { throwIfNoEntry: false })?.size
    if (size === undefined) return `there is no ${path}`
    if (size > bytesMax) return `${path} has ${size} bytes`
  }
  return null
}

const shown = documentsWithText().flatMap(({ path, text }) => picturesOf(path, text))

test('every picture of a page is there in light and dark, at most 150 KB each', () => {
  assert.ok(shown.length >= 8, `${shown.length}`)
  for (const one of shown) assert.equal(faultOf(one), null, `${one.page}: ${one.light}`)
})

test('every picture that is kept is on a page', () => {
  const used = new Set(shown.flatMap(({ dark, light }) => [dark, light]))
  const kept = globSync('docs/pictures/*', { cwd: checkout })
  assert.deepEqual(
    kept.filter(path => !used.has(path)),
    [],
  )
})

test('a picture with one theme, without a text or without its file is found', () => {
  const whole = (light: string, dark = light.replace('-light.', '-dark.'), alt = 'The overview') =>
    `<picture>\n<source media="(prefers-color-scheme: dark)" srcset="${dark}">\n<img alt="${alt}" src="${light}">\n</picture>`
  const faults = (text: string) => picturesOf('docs/PAGE.md', text).map(faultOf)
  const overview = 'pictures/overview-light.webp'
  assert.deepEqual(faults(whole(overview)), [null])
  for (const broken of [
    `<img alt="The overview" src="${overview}">`,
    `![The overview](${overview})`,
    whole(overview, overview),
    whole(overview, 'pictures/keys-dark.webp'),
    whole(overview, undefined, ''),
    whole('pictures/none-light.webp'),
  ]) {
    const [fault] = faults(broken)
    assert.equal(typeof fault, 'string', broken)
  }
})
